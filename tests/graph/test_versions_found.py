"""Which graphs are versions: by template, by catalogue, or the one live graph."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from rdflib import Graph

from kgsync.errors import ConfigError, VersionError
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import open_store
from kgsync.graph.versions import find_versions, live_version
from tests.graph.catalogues import CATALOG, KG, STORES, TEMPLATE, names_of, store_with


@pytest.fixture(params=STORES)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# -- by template -----------------------------------------------------------------------------------


def test_the_placeholder_matches_one_path_segment(kind: str) -> None:
    others = ["1/data", "1#part", "1?x=y", KG, "http://example.org/other/1", KG.rstrip("/")]
    store = store_with(kind, ["1", "2.1-rc~3", "2015Q1", "ü", *others])
    found = find_versions(store, TEMPLATE, None)
    assert names_of(found) == ["1", "2.1-rc~3", "2015Q1", "ü"]
    assert all(version.graph == version.name for version in found.versions)


@pytest.mark.parametrize(
    ("template", "matching", "other"),
    [
        (KG + "{version}/data", "3/data", "3/meta"),
        (KG + "v{version}", "v3", "w3"),
        (KG + "data?v={version}", "data?v=3", "dataXv=3"),
        (KG + "a.b/{version}", "a.b/3", "aXb/3"),
        ("urn:kg:{version}", "urn:kg:3", "urn:gk:3"),
    ],
)
def test_the_rest_of_the_template_is_taken_literally(
    template: str, matching: str, other: str
) -> None:
    store = store_with("oxigraph", [matching, other])
    assert names_of(find_versions(store, template, None)) == [matching]


def test_no_match_is_an_error_that_lists_the_graphs(kind: str) -> None:
    store = store_with(kind, ["a/b", "c/d"])
    with pytest.raises(VersionError, match=f"<{KG}a/b>, <{KG}c/d>") as error:
        find_versions(store, TEMPLATE, None)
    assert TEMPLATE in str(error.value)
    assert store.label in str(error.value)


def test_a_long_list_of_graphs_is_cut() -> None:
    store = store_with("oxigraph", [f"{number}/x" for number in range(20)])
    with pytest.raises(VersionError, match="and 12 more"):
        find_versions(store, TEMPLATE, None)


def test_an_empty_store_has_no_match() -> None:
    with pytest.raises(VersionError, match="no named graphs"):
        find_versions(store_with("oxigraph", []), TEMPLATE, None)


def test_the_catalogue_is_no_version_even_if_the_template_matches_it(kind: str) -> None:
    store = store_with(kind, ["1", "2"], "kg:2 dcterms:title 'two' .", catalog=KG + "catalog")
    assert names_of(find_versions(store, TEMPLATE, KG + "catalog")) == ["1", "2"]


# -- live ------------------------------------------------------------------------------------------


def test_a_plain_graph_iri_is_a_live_graph(kind: str) -> None:
    found = find_versions(store_with(kind, ["1", "2"]), KG + "2", None)
    assert found.order == "live"
    assert [version.graph for version in found.versions] == [KG + "2"]


def test_the_default_graph_can_be_live(kind: str) -> None:
    found = find_versions(store_with(kind, ["1", "2"]), "default", None)
    assert (found.order, found.versions[0].graph) == ("live", None)


def test_a_live_graph_that_is_not_there_is_an_error_that_lists_the_graphs(kind: str) -> None:
    with pytest.raises(VersionError, match=f"no graph <{KG}3>.*<{KG}1>, <{KG}2>"):
        find_versions(store_with(kind, ["1", "2"]), KG + "3", None)


@pytest.mark.parametrize("graphs", ["not an iri", "relative", KG + "a b", KG + "> } #"])
def test_a_live_graph_must_be_an_iri(graphs: str) -> None:
    with pytest.raises(ConfigError, match="not an absolute IRI"):
        find_versions(store_with("oxigraph", ["1"]), graphs, None)


def test_a_live_version_is_named_by_the_utc_time_of_the_fetch() -> None:
    version = live_version(KG + "1")
    moment = datetime.fromisoformat(version.name)
    assert moment.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - moment) < timedelta(minutes=1)


def test_live_is_always_to_do() -> None:
    found = find_versions(store_with("oxigraph", ["1"]), KG + "1", None)
    assert found.after(found.versions[0], "oldest") == found.versions


# -- no setting ------------------------------------------------------------------------------------


def test_without_a_setting_the_catalogue_names_the_versions(kind: str) -> None:
    catalogue = "kg:b dcat:previousVersion kg:a . kg:a dcterms:issued '2020' ."
    store = store_with(kind, ["a", "b", "unrelated"], catalogue)
    found = find_versions(store, None, None)
    assert (found.order, names_of(found)) == ("chain", ["a", "b"])


def test_without_a_setting_the_catalogue_may_be_a_named_graph(kind: str) -> None:
    catalogue = "kg:b dcterms:issued '2020' . kg:a dcterms:issued '2021' ."
    store = store_with(kind, ["a", "b", "unrelated"], catalogue, catalog=CATALOG)
    assert names_of(find_versions(store, None, CATALOG)) == ["b", "a"]


def test_a_catalogue_that_describes_itself_is_no_version(kind: str) -> None:
    catalogue = (
        "kg:a dcterms:issued '2020' . kg:b dcterms:issued '2021' ."
        f"<{CATALOG}> a dcat:Catalog ; dcterms:issued '2022' ."
    )
    store = store_with(kind, ["a", "b"], catalogue, catalog=CATALOG)
    assert names_of(find_versions(store, None, CATALOG)) == ["a", "b"]


def test_without_a_setting_the_only_graph_is_live(kind: str) -> None:
    found = find_versions(store_with(kind, ["only"]), None, None)
    assert (found.order, found.versions[0].graph) == ("live", KG + "only")


def test_the_only_graph_beside_the_catalogue_is_live(kind: str) -> None:
    store = store_with(kind, ["only"], "<urn:x> dcterms:title 'x' .", catalog=CATALOG)
    assert find_versions(store, None, CATALOG).versions[0].graph == KG + "only"


def test_a_store_without_named_graphs_is_live(kind: str) -> None:
    found = find_versions(store_with(kind, [], "kg:x dcterms:relation kg:y ."), None, None)
    assert (found.order, found.versions[0].graph) == ("live", None)


def test_an_rdflib_graph_is_live() -> None:
    found = find_versions(open_store(Graph()), None, None)
    assert (found.order, found.versions[0].graph) == ("live", None)


def test_without_a_setting_several_graphs_are_an_error_that_lists_them(kind: str) -> None:
    with pytest.raises(VersionError, match=f"2 named graphs.*<{KG}a>, <{KG}b>") as error:
        find_versions(store_with(kind, ["b", "a"]), None, None)
    assert "{version}" in str(error.value)


# -- output graphs ---------------------------------------------------------------------------------


def test_an_output_graph_is_no_version(kind: str) -> None:
    store = store_with(kind, ["1", "2"], output=["embeddings"])
    assert store.graphs() == [KG + "1", KG + "2", KG + "embeddings"]
    assert names_of(find_versions(store, TEMPLATE, None)) == ["1", "2"]


def test_an_output_graph_does_not_make_the_live_graph_ambiguous(kind: str) -> None:
    store = store_with(kind, ["only"], output=["embeddings", "http://example.org/of-another-sync"])
    assert find_versions(store, None, None).versions[0].graph == KG + "only"


def test_an_output_graph_cannot_be_named_as_live(kind: str) -> None:
    store = store_with(kind, ["1"], output=["embeddings"])
    with pytest.raises(VersionError, match=f"no graph <{KG}embeddings>"):
        find_versions(store, KG + "embeddings", None)


def test_an_output_graph_that_the_catalogue_describes_is_no_version(kind: str) -> None:
    catalogue = "kg:1 dcterms:issued '2020' . kg:embeddings dcterms:issued '2021' ."
    store = store_with(kind, ["1"], catalogue, output=["embeddings"])
    assert names_of(find_versions(store, None, None)) == ["1"]


def test_a_graph_that_only_mentions_the_marker_is_input() -> None:
    """The mark is a statement of a graph about itself."""
    store = store_with("oxigraph", ["1"], output=["embeddings"])
    marker = f"<{KG}embeddings> a <https://w3id.org/kgsync/ns#OutputGraph>"
    store.update(f"INSERT DATA {{ GRAPH <{KG}1> {{ {marker} }} }}")
    assert names_of(find_versions(store, TEMPLATE, None)) == ["1"]


UNION = "rdflib union"


def test_output_graphs_are_not_read_through_a_union_default_graph() -> None:
    store = store_with(UNION, ["1", "2"], output=["embeddings"])
    # Both graphs have the same edge, which a union holds once.
    assert store.count(TripleSource(None)) == 1


def test_a_scope_over_a_union_default_graph_is_refused() -> None:
    store = store_with(UNION, ["1", "2"], output=["embeddings"])
    scope = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
    with pytest.raises(ConfigError, match="set `graphs`"):
        store.count(TripleSource(None, scope))


def test_an_edge_that_an_output_graph_repeats_is_still_input() -> None:
    store = store_with(UNION, ["1"], output=["embeddings"])
    edge = "<http://example.org/a> <http://example.org/p> <http://example.org/b>"
    store.update(f"INSERT DATA {{ GRAPH <{KG}embeddings> {{ {edge} }} }}")
    assert store.count(TripleSource(None)) == 1


def test_a_union_default_graph_shows_its_own_triples_too() -> None:
    store = store_with(UNION, ["1"], "kg:x kg:p kg:y .", output=["embeddings"])
    assert store.count(TripleSource(None)) == 2


def test_what_a_sync_published_is_not_taken_for_the_catalogue() -> None:
    """Through a union default graph the catalogue query sees the output graphs as well."""
    store = store_with(UNION, ["1", "2"], "kg:1 dcat:previousVersion kg:2 .", output=["out"])
    # Two embedding versions after the same one, as after a rollback.
    links = "".join(f"<{KG}out/{n}> dcat:previousVersion <{KG}out/1> ." for n in (2, 3))
    store.update(
        f"PREFIX dcat: <http://www.w3.org/ns/dcat#>INSERT DATA {{ GRAPH <{KG}out> {{ {links} }} }}"
    )
    found = find_versions(store, TEMPLATE, None)
    assert (found.order, names_of(found)) == ("chain", ["2", "1"])

"""Loading versions: what kgsync finds afterwards, and what an interruption leaves behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import Dataset

from kgsync.errors import ConfigError, PermanentStoreError, VersionError
from kgsync.graph.port import GraphStore, TripleSource
from kgsync.graph.stores import open_store
from kgsync.graph.versions import find_versions
from kgsync.snapshots.loading import Destination, LoadedVersion, check_target, load_versions
from kgsync.snapshots.version import BuiltVersion
from kgsync.snapshots.window import sliding_window
from tests.graph.graphs import EX, edge_list, edges, ntriples, oxigraph, scanned
from tests.processes import exit_code
from tests.snapshots.files import timed

GRAPHS = EX + "version/{version}"
CATALOG = EX + "catalog"
HERE = Destination(GRAPHS)


def built(folder: Path, *, share: float = 0.5) -> Iterator[BuiltVersion]:
    """Five versions of ten edges each; each changes one or two."""
    facts = [(f"e{i}", f"r{i % 3}", f"e{i * 7 % 20}", 86_400 * i) for i in range(20)]
    return sliding_window(timed(folder, facts), versions=5, share=share)


def load(store: GraphStore, versions: Iterator[BuiltVersion]) -> list[LoadedVersion]:
    return list(load_versions(store, versions, HERE))


def contents(store: GraphStore) -> dict[str | None, list[tuple[str, str, str]]]:
    """Every triple of a store by graph, the default graph included."""
    return {g: sorted(scanned(store, TripleSource(g))) for g in (None, *store.graphs())}


@pytest.fixture
def store() -> GraphStore:
    return open_store(ox.Store())


def test_kgsync_finds_the_versions_in_their_order(store: GraphStore, tmp_path: Path) -> None:
    loaded = load(store, built(tmp_path))
    for graphs in (GRAPHS, None):
        found = find_versions(store, graphs, None)
        assert found.order == "chain"
        assert [version.name for version in found.versions] == [v.graph for v in loaded]
        assert [version.issued for version in found.versions] == [v.issued for v in loaded]
        assert found.pending == ()
    for version, row in zip(built(tmp_path), loaded, strict=True):
        rows = {tuple(term[1:-1] for term in r) for r in scanned(store, TripleSource(row.graph))}
        assert rows == set(edge_list(version.edges, version.terms))


def test_what_is_loaded_is_reported(store: GraphStore, tmp_path: Path) -> None:
    versions = list(built(tmp_path))
    first, second, *_ = loaded = load(store, iter(versions))
    assert (first.triples, first.added, first.deleted) == (10, 10, 0)
    assert (second.triples, second.added, second.deleted) == (10, 2, 2)
    assert second.entities == len(versions[1].edges.entities)
    assert second.relations == 3
    assert second.issued == "1970-01-12T00:00:00Z"
    assert all(version.loaded for version in loaded)


def test_a_named_catalogue_takes_the_descriptions(store: GraphStore, tmp_path: Path) -> None:
    destination = Destination(GRAPHS, CATALOG)
    loaded = list(load_versions(store, built(tmp_path), destination))
    assert store.count(TripleSource(None)) == 0
    found = find_versions(store, GRAPHS, CATALOG)
    assert (found.order, len(found.versions)) == ("chain", 5)
    assert not any(v.loaded for v in load_versions(store, built(tmp_path), destination))
    with pytest.raises(VersionError, match="not as a version of this catalogue"):
        load(store, built(tmp_path))
    assert loaded[0].graph == GRAPHS.format(version=0)


def test_the_description_says_what_the_version_is(store: GraphStore, tmp_path: Path) -> None:
    load(store, built(tmp_path))
    graph = GRAPHS.format(version=1)
    rows = store.select(
        f"SELECT ?p ?o (DATATYPE(?o) AS ?type) WHERE {{ <{graph}> ?p ?o }} ORDER BY ?p"
    )
    described = {
        p.value.replace("#", "/").rpartition("/")[2]: (
            o.value,
            t.value.rpartition("#")[2] if t else "",
        )
        for p, o, t in rows
        if p and o
    }
    assert described.pop("identifier")[0].startswith("sha256:")
    title, _ = described.pop("title")
    assert title == "facts 3 to 12 of 20, 1970-01-03T00:00:00Z to 1970-01-12T00:00:00Z"
    assert described == {
        "type": ("http://www.w3.org/ns/dcat#Dataset", ""),
        "version": ("1", "string"),
        "triples": ("10", "integer"),
        "previousVersion": (GRAPHS.format(version=0), ""),
        "issued": ("1970-01-12T00:00:00Z", "dateTime"),
    }


def test_an_rdflib_dataset_is_loaded_as_well(tmp_path: Path) -> None:
    store = open_store(Dataset())
    first = next(load_versions(store, built(tmp_path), HERE))
    assert first.loaded
    again = load(store, built(tmp_path))
    assert [version.loaded for version in again] == [False, True, True, True, True]
    found = find_versions(store, GRAPHS, None)
    assert (found.order, len(found.versions)) == ("chain", 5)


def test_loading_again_changes_nothing(store: GraphStore, tmp_path: Path) -> None:
    first = load(store, built(tmp_path))
    before = contents(store)
    again = load(store, built(tmp_path))
    assert not any(version.loaded for version in again)
    assert [version.triples for version in again] == [version.triples for version in first]
    assert contents(store) == before


@pytest.mark.parametrize("done", [0, 1, 3])
def test_a_half_loaded_version_is_never_seen_and_then_replaced(
    store: GraphStore, tmp_path: Path, done: int
) -> None:
    class Half(BuiltVersion):
        """A version whose loading ends in the middle."""

        def ntriples(self) -> Iterator[str]:
            whole = "".join(super().ntriples())
            yield whole[: whole.index("\n", len(whole) // 2) + 1]
            yield f"<{EX}stray> <{EX}p> <{EX}q> .\n"
            raise KeyboardInterrupt

    versions = list(built(tmp_path))
    versions[done] = Half(**vars(versions[done]))
    with pytest.raises(KeyboardInterrupt):
        load(store, iter(versions))
    broken = GRAPHS.format(version=done)
    assert store.count(TripleSource(broken)) > 2
    if done:
        found = find_versions(store, GRAPHS, None)
        assert [v.name for v in found.versions] == [GRAPHS.format(version=k) for k in range(done)]
        assert found.pending == ()
    else:
        with pytest.raises(VersionError, match="no named graph"):
            find_versions(store, GRAPHS, None)
    again = load(store, built(tmp_path))
    assert [version.loaded for version in again] == [False] * done + [True] * (5 - done)
    quiet = open_store(ox.Store())
    load(quiet, built(tmp_path))
    assert contents(store) == contents(quiet)


def loads_and_dies(folder: Path, version: int) -> None:
    """Run in a process of its own: killed after a piece of the given version is in the store."""
    store = open_store(folder / "kg", create=True)
    insert = store.insert

    def deadly(graph: str, text: str) -> None:
        insert(graph, text)
        if graph == GRAPHS.format(version=version):
            os.kill(os.getpid(), signal.SIGKILL)

    store.insert = deadly  # type: ignore[assignment,method-assign]
    load(store, built(folder))


def test_a_killed_load_goes_on_where_it_was(tmp_path: Path) -> None:
    assert exit_code(loads_and_dies, tmp_path, 2) == -signal.SIGKILL
    store = open_store(tmp_path / "kg")
    assert len(find_versions(store, GRAPHS, None).versions) == 2
    again = load(store, built(tmp_path))
    assert [version.loaded for version in again] == [False, False, True, True, True]
    assert len(find_versions(store, GRAPHS, None).versions) == 5
    store.close()


def test_other_data_in_the_store_is_left_alone(tmp_path: Path) -> None:
    other, label = EX + "other", f'<{EX}a> <{EX}label> "mine" .\n'
    store = open_store(oxigraph({other: ntriples(edges("a p b")), None: label}))
    before = contents(store)
    load(store, built(tmp_path))
    after = contents(store)
    assert after[other] == before[other]
    assert before[None][0] in after[None]


def test_a_graph_of_the_users_is_never_overwritten(tmp_path: Path) -> None:
    mine = GRAPHS.format(version=1)
    store = open_store(oxigraph({mine: ntriples(edges("a p b"))}))
    with pytest.raises(VersionError, match=f"<{mine}> in .* already exists"):
        load(store, built(tmp_path))
    assert store.count(TripleSource(mine)) == 1


def test_versions_of_other_settings_are_never_overwritten(
    store: GraphStore, tmp_path: Path
) -> None:
    load(store, built(tmp_path))
    before = contents(store)
    with pytest.raises(VersionError, match="other data or with other settings"):
        load(store, built(tmp_path, share=0.25))
    assert contents(store) == before


def test_a_version_that_was_changed_since_is_noticed(store: GraphStore, tmp_path: Path) -> None:
    load(store, built(tmp_path))
    store.insert(GRAPHS.format(version=3), ntriples(edges("a p b")))
    with pytest.raises(VersionError, match=r"version/3> .* has changed since"):
        load(store, built(tmp_path))


def test_a_version_that_was_dropped_is_loaded_again(store: GraphStore, tmp_path: Path) -> None:
    load(store, built(tmp_path))
    before = contents(store)
    store.update(f"DROP GRAPH <{GRAPHS.format(version=3)}>")
    assert [v.loaded for v in load(store, built(tmp_path))] == [False, False, False, True, False]
    assert contents(store) == before


def test_more_versions_can_follow_later(store: GraphStore, tmp_path: Path) -> None:
    load(store, islice(built(tmp_path), 3))
    assert len(find_versions(store, GRAPHS, None).versions) == 3
    load(store, built(tmp_path))
    assert len(find_versions(store, GRAPHS, None).versions) == 5


def test_a_store_that_swallows_triples_is_caught(store: GraphStore, tmp_path: Path) -> None:
    class Thin(BuiltVersion):
        """A version of which a piece gets lost on the way."""

        def ntriples(self) -> Iterator[str]:
            yield "".join(super().ntriples()).partition("\n")[2]

    versions = (Thin(**vars(version)) for version in built(tmp_path))
    with pytest.raises(PermanentStoreError, match="9 of the 10 triples"):
        load(store, versions)
    with pytest.raises(VersionError):
        find_versions(store, GRAPHS, None)


@pytest.mark.parametrize("graphs", [EX + "kg", EX + "{version}/{version}", "kg/{version}", "a b"])
def test_a_pattern_without_sense_is_refused(graphs: str) -> None:
    with pytest.raises(ConfigError):
        Destination(graphs)


def test_a_folder_of_other_things_is_no_store(tmp_path: Path) -> None:
    check_target(str(tmp_path / "new"))
    check_target(str(tmp_path))
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ConfigError, match="is not a store"):
        check_target(str(tmp_path))
    with pytest.raises(ConfigError, match="is not a store"):
        check_target(str(tmp_path / "thesis.tex"))

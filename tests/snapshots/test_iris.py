"""IRIs for names: always valid, never shared."""

from __future__ import annotations

import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.errors import ConfigError
from kgsync.queries import check_iri
from kgsync.snapshots.iris import Naming
from tests.graph.graphs import examples


def entity_iris(names: list[str], namespace: str = "http://example.org/kg") -> list[str]:
    iris: list[str] = Naming(namespace).entities(pa.array(names, pa.string())).to_pylist()
    return iris


@pytest.mark.parametrize(
    ("name", "local"),
    [
        ("42", "42"),
        ("/m/02x8n1n", "m/02x8n1n"),
        ("/location/country/form_of_government", "location/country/form_of_government"),
        ("concept:coach:peyton_manning", "concept:coach:peyton_manning"),
        ("a b", "a%20b"),
        ("what?", "what%3F"),
        ("a#b", "a%23b"),
        ("50%", "50%25"),
        ("a%20b", "a%2520b"),
        ("Zürich", "Zürich"),
        ("😀", "%F0%9F%98%80"),
        ('<"{}|^`\\>', "%3C%22%7B%7D%7C%5E%60%5C%3E"),
        ("[x]", "%5Bx%5D"),
    ],
)
def test_names_stay_readable_where_iris_allow_it(name: str, local: str) -> None:
    assert entity_iris([name]) == [f"http://example.org/kg/entity/{local}"]


@examples(100)
@given(st.lists(st.text(min_size=1).filter(lambda name: name[0] != "/"), unique=True, min_size=1))
def test_every_name_has_a_valid_iri_of_its_own(names: list[str]) -> None:
    iris = entity_iris(names)
    assert len(set(iris)) == len(names)
    for iri in iris:
        check_iri(iri)
        line = f"<{iri}> <{iri}> <{iri}> .\n"
        (quad,) = ox.parse(line, format=ox.RdfFormat.N_TRIPLES)  # strictly
        assert quad.subject == ox.NamedNode(iri)


def test_names_that_would_share_an_iri_are_refused() -> None:
    with pytest.raises(ConfigError, match="slashes"):
        entity_iris(["/m/1", "m/1"])


def test_entities_and_relations_of_one_name_are_told_apart() -> None:
    name = pa.array(["x"])
    naming = Naming("http://example.org/#")
    assert naming.entities(name).to_pylist() == ["http://example.org/#entity/x"]
    assert naming.relations(name).to_pylist() == ["http://example.org/#relation/x"]


def test_a_namespace_must_be_an_iri() -> None:
    with pytest.raises(ConfigError, match="not an absolute IRI"):
        Naming("example.org/")

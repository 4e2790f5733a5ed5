"""SPARQL functions over vectors: right numbers, and no error that is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from numpy.typing import NDArray
from rdflib import Dataset, Graph

import kgsync
from kgsync import KGSync, open_store
from kgsync.errors import QueryError, StateError
from kgsync.graph.port import Function, QueryReader, Term
from kgsync.graph.stores import StoreTarget
from kgsync.graph.table import Table
from kgsync.publish.literals.datatypes import DATATYPES, decode, encode
from kgsync.state.committed import CommittedVersion
from kgsync.vectors.embeddings import Embeddings
from kgsync.vectors.functions import COSINE, EUCLIDEAN, FUNCTIONS, SCORE, VECTOR, Functions
from tests.worlds import EX, GRAPHS, fill, iri, quick_settings

DOUBLE = "http://www.w3.org/2001/XMLSchema#double"
STORES: dict[str, Callable[[], StoreTarget]] = {"oxigraph": ox.Store, "rdflib": Dataset}

Vector = NDArray[np.float32]


@pytest.fixture(scope="module")
def sync(tmp_path_factory: pytest.TempPathFactory) -> KGSync:
    state = tmp_path_factory.mktemp("functions") / "state"
    sync = KGSync(fill(ox.Store(), ["1", "2"]), GRAPHS, state=state, settings=quick_settings())
    assert len(sync.catch_up()) == 2
    return sync


@pytest.fixture
def functions(sync: KGSync) -> Functions:
    return Functions(sync.at)


@pytest.fixture(params=sorted(STORES))
def ask(request: pytest.FixtureRequest) -> Callable[[str, dict[str, Function]], Table]:
    """Asks an empty store of this process."""
    store = open_store(STORES[request.param]())
    assert isinstance(store, QueryReader)
    return store.query


Ask = Callable[[str, dict[str, Function]], Table]


def literal(vector: Vector, datatype: str = "list") -> str:
    """A vector as it stands in a query."""
    text = encode(vector[np.newaxis], datatype)[0].as_py()
    return f"{json.dumps(text)}^^<{DATATYPES[datatype].iri}>"


def value_of(ask: Ask, functions: Functions, call: str) -> Any:
    """What one call gives; None if it is unbound."""
    # rdflib drops rows without any value.
    table = ask(f"SELECT ?v ?one WHERE {{ BIND({call} AS ?v) BIND(1 AS ?one) }}", functions.by_iri)
    functions.check()
    ((term, _),) = table.rows
    assert term is None or term.datatype in (DOUBLE, DATATYPES["list"].iri)
    return table.column("v")[0]


def some_vectors(count: int = 2, dimension: int = 20) -> Vector:
    random = np.random.default_rng(5)
    return random.normal(size=(count, dimension)).astype(np.float32)


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", sorted(DATATYPES))
@pytest.mark.parametrize("second", sorted(DATATYPES))
def test_numbers_agree_with_numpy_for_all_datatypes(
    ask: Ask, functions: Functions, first: str, second: str
) -> None:
    a, b = some_vectors()
    cosine = value_of(ask, functions, f"<{COSINE}>({literal(a, first)}, {literal(b, second)})")
    x, y = a.astype(np.float64), b.astype(np.float64)
    assert cosine == pytest.approx(x @ y / np.linalg.norm(x) / np.linalg.norm(y), rel=1e-12)
    distance = value_of(ask, functions, f"<{EUCLIDEAN}>({literal(a, first)}, {literal(b, second)})")
    assert distance == pytest.approx(np.linalg.norm(x - y), rel=1e-12)


def test_special_places(ask: Ask, functions: Functions) -> None:
    (a,) = some_vectors(1)
    zero = np.zeros(20, np.float32)
    assert value_of(ask, functions, f"<{COSINE}>({literal(a)}, {literal(a)})") == pytest.approx(1)
    assert value_of(ask, functions, f"<{COSINE}>({literal(a)}, {literal(-a)})") == pytest.approx(-1)
    assert value_of(ask, functions, f"<{COSINE}>({literal(a)}, {literal(zero)})") == 0
    assert value_of(ask, functions, f"<{EUCLIDEAN}>({literal(a)}, {literal(a)})") == 0


def test_the_vector_of_an_iri_is_that_of_the_files(
    ask: Ask, functions: Functions, sync: KGSync
) -> None:
    text = value_of(ask, functions, f"<{VECTOR}>(<{iri('e1')}>)")
    assert np.array_equal(decode(text, DATATYPES["list"].iri), sync.embedding(iri("e1")))
    relation = value_of(ask, functions, f"<{VECTOR}>(<{iri('next')}>)")
    expected = sync.relation_embedding(iri("next"))
    assert np.array_equal(decode(relation, DATATYPES["list"].iri), expected)


@pytest.mark.parametrize("version", ["1", '"1"', "<urn:kgsync:state#v1>"])
def test_the_vector_of_an_older_version(
    ask: Ask, functions: Functions, sync: KGSync, version: str
) -> None:
    text = value_of(ask, functions, f"<{VECTOR}>(<{iri('e9')}>, {version})")
    assert np.array_equal(decode(text, DATATYPES["list"].iri), sync.at(1).embedding(iri("e9")))
    assert value_of(ask, functions, f"<{VECTOR}>(<{iri('e9')}>)") is None  # deleted in version 2


def test_iris_and_literals_may_be_mixed(ask: Ask, functions: Functions, sync: KGSync) -> None:
    one, two = iri("e1"), iri("e2")
    a, b = sync.embedding(one), sync.embedding(two)
    calls = [f"<{one}>, <{two}>", f"<{one}>, {literal(b)}", f"{literal(a, 'base64')}, <{two}>"]
    calls.append(f"<{VECTOR}>(<{one}>), <{two}>")
    distances = [value_of(ask, functions, f"<{EUCLIDEAN}>({call})") for call in calls]
    assert distances == pytest.approx([float(np.linalg.norm(a - b))] * 4, rel=1e-6)
    assert len(set(distances)) == 1


def test_the_score_is_that_of_the_model(ask: Ask, functions: Functions, sync: KGSync) -> None:
    triple = iri("e1"), iri("next"), iri("e2")
    score = value_of(ask, functions, f"<{SCORE}>({', '.join(f'<{term}>' for term in triple)})")
    assert score == sync.at().score(*triple)


@pytest.mark.parametrize(
    "call",
    [
        f"<{VECTOR}>(<{EX}nobody>)",
        f'<{VECTOR}>("text")',
        f"<{COSINE}>(<{EX}nobody>, <{EX}e1>)",
        f"<{EUCLIDEAN}>(<{EX}e1>, <{EX}nobody>)",
        f"<{SCORE}>(<{EX}nobody>, <{EX}next>, <{EX}e1>)",
        f"<{SCORE}>(<{EX}e1>, <{EX}nothing>, <{EX}e1>)",
        f'<{SCORE}>(<{EX}e1>, <{EX}next>, "text")',
        f"<{VECTOR}>(BNODE())",
        f"<{COSINE}>(<{EX}e1>, ?unbound)",
    ],
)
def test_what_has_no_vector_is_unbound(ask: Ask, functions: Functions, call: str) -> None:
    assert value_of(ask, functions, call) is None


# -- errors ----------------------------------------------------------------------------------------

LIST = DATATYPES["list"].iri


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (f'<{COSINE}>("[1,2]"^^<{LIST}>, "[1,2,3]"^^<{LIST}>)', r"have 2 and 3 numbers"),
        (f'<{COSINE}>("[1,2"^^<{LIST}>, "[1,2]"^^<{LIST}>)', r'"\[1,2"\^\^<.*List>, .*: '),
        (f'<{EUCLIDEAN}>("[1,2]", "[1,2]")', "is not a vector datatype"),
        (f'<{EUCLIDEAN}>("[1,null]"^^<{LIST}>, <{EX}e1>)', "not a list of numbers"),
        (f'<{EUCLIDEAN}>("[1]"^^<{LIST}>, <{EX}e1>)', "have 1 and 8 numbers"),
        (f"<{EUCLIDEAN}>(<{EX}e1>)", "it takes 2 arguments, not 1"),
        (f"<{SCORE}>(<{EX}e1>)", "it takes 3 arguments, not 1"),
        (f"<{VECTOR}>(<{EX}e1>, 1, 2)", "it takes 1 or 2 arguments, not 3"),
        (f'<{COSINE}>("[{"1" * 400}]"^^<{LIST}>, <{EX}e1>)', "a number is not finite"),
        (f'<{COSINE}>("[1e39]"^^<{LIST}>, <{EX}e1>)', "a number is not finite"),
        (f'<{COSINE}>("{"[" * 9999}"^^<{LIST}>, <{EX}e1>)', "not a list of numbers: too deep"),
        (f"<{VECTOR}>(<{EX}e1>, 9)", "9"),
        (f'<{VECTOR}>(<{EX}e1>, "first")', "neither the number nor the IRI of a version"),
    ],
)
def test_an_error_names_the_function_and_what_it_was_given(
    ask: Ask, functions: Functions, call: str, reason: str
) -> None:
    name = call[: call.index(">") + 1]
    with pytest.raises(QueryError, match=reason) as error:
        value_of(ask, functions, call)
    assert str(error.value).startswith(name)
    functions.check()  # it is told once


@pytest.mark.parametrize(
    "error",
    [RuntimeError("no more memory"), TypeError("no number"), OverflowError("large"), KeyError()],
)
def test_no_kind_of_error_is_lost(ask: Ask, error: Exception) -> None:
    class Broken:
        def iris(self, kind: str) -> Any:
            raise error

        def table(self, kind: str) -> Any:
            raise error

        def score(self, head: str, relation: str, tail: str) -> float:
            raise error

    functions = Functions(lambda version: Broken())
    reason = str(error) or "KeyError"
    with pytest.raises(QueryError, match=rf"<{VECTOR}>\(<{EX}e1>\): {reason}"):
        value_of(ask, functions, f"<{VECTOR}>(<{EX}e1>)")


def test_the_first_error_is_told(ask: Ask, functions: Functions) -> None:
    text = " ".join(f'("[{n},{n}"^^<{LIST}>)' for n in range(3))
    query = f"SELECT ?d WHERE {{ VALUES (?v) {{ {text} }} BIND(<{COSINE}>(?v, ?v) AS ?d) }}"
    table = ask(query, functions.by_iri)
    assert [row for row in table.rows if row[0] is not None] == []
    with pytest.raises(QueryError, match=r'"\[0,0"'):
        functions.check()


def test_a_long_literal_is_cut_in_the_message(ask: Ask, functions: Functions) -> None:
    long = literal(some_vectors(1, 500)[0])
    with pytest.raises(QueryError, match="have 500 and 8 numbers") as error:
        value_of(ask, functions, f"<{COSINE}>({long}, <{EX}e1>)")
    assert len(str(error.value)) < 400


def test_a_repeated_literal_is_decoded_once(
    functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counting(text: str, datatype: str) -> Vector:
        read.append(text)
        return decode(text, datatype)

    monkeypatch.setattr("kgsync.vectors.functions.decode", counting)
    one, *others = encode(some_vectors(2000), "list").to_pylist()
    store = ox.Store()
    for number, text in enumerate(others):
        vector = ox.Literal(text, datatype=ox.NamedNode(LIST))
        store.add(ox.Quad(ox.NamedNode(f"{EX}e{number}"), ox.NamedNode(EX + "v"), vector))
    query = f'SELECT ?s (<{COSINE}>(?v, "{one}"^^<{LIST}>) AS ?d) WHERE {{ ?s <{EX}v> ?v }}'
    reader = open_store(store)
    assert isinstance(reader, QueryReader)
    table = reader.query(query, functions.by_iri)
    assert len(table) == 1999
    assert None not in table.column("d")
    assert read.count(one) == 1
    assert len(read) == 2000


# -- for other people's stores ---------------------------------------------------------------------


def test_functions_for_a_pyoxigraph_store_of_ones_own(sync: KGSync) -> None:
    functions = kgsync.sparql_functions(sync)
    assert {node.value for node in functions} == set(FUNCTIONS)
    text = f"SELECT (<{COSINE}>(<{EX}e1>, <{EX}e2>) AS ?c) WHERE {{}}"
    solutions: Any = ox.Store().query(text, custom_functions=functions)
    ((cosine,),) = solutions
    neighbors = {n.iri: n.similarity for n in sync.neighbors(EX + "e1", 100)}
    assert float(cosine.value) == pytest.approx(neighbors[EX + "e2"], abs=1e-6)
    functions.check()
    wrong: Any = ox.Store().query(
        f'ASK {{ FILTER(<{COSINE}>("x", "y") > 0) }}', custom_functions=functions
    )
    assert not wrong
    with pytest.raises(QueryError, match="not a vector datatype"):
        functions.check()


def test_functions_for_rdflib_are_known_for_a_while(sync: KGSync) -> None:
    text = f"SELECT ?v WHERE {{ BIND(<{VECTOR}>(<{EX}e1>) AS ?v) }}"
    with kgsync.rdflib_functions(sync, version=1):
        rows: Any = list(Graph().query(text))
    assert str(rows[0].v.datatype) == LIST
    assert np.array_equal(decode(str(rows[0].v), LIST), sync.at(1).embedding(EX + "e1"))
    assert list(Graph().query(text)) == []  # rdflib drops rows without any value
    call = f'SELECT ?v WHERE {{ BIND(<{COSINE}>("x", "y") AS ?v) }}'
    with pytest.raises(QueryError, match="not a vector datatype"), kgsync.rdflib_functions(sync):
        list(Graph().query(call))
    with pytest.raises(ZeroDivisionError), kgsync.rdflib_functions(sync):
        raise ZeroDivisionError
    assert list(Graph().query(text)) == []


def test_functions_for_rdflib_may_be_nested(sync: KGSync, tmp_path: Path) -> None:
    text = f"SELECT ?v WHERE {{ BIND(<{VECTOR}>(<{EX}e1>) AS ?v) }}"
    dataset = Dataset()
    dataset.parse(data=fill(ox.Store(), ["1"]).dump(format=ox.RdfFormat.N_QUADS), format="nquads")
    other = KGSync(dataset, GRAPHS, state=tmp_path / "other", settings=quick_settings(seed=3))
    other.step()

    def vector() -> Vector:
        rows: Any = Graph().query(text)
        (row,) = list(rows)
        return decode(str(row[0]), LIST)

    with kgsync.rdflib_functions(sync, version=1):
        with kgsync.rdflib_functions(sync, version=2):
            assert np.array_equal(vector(), sync.at(2).embedding(EX + "e1"))
        table = other.query(text)
        assert np.array_equal(decode(str(table.column("v")[0]), LIST), other.embedding(EX + "e1"))
        assert np.array_equal(vector(), sync.at(1).embedding(EX + "e1"))
    assert list(Graph().query(text)) == []


def test_functions_for_rdflib_in_several_threads(sync: KGSync) -> None:
    text = f"SELECT ?v WHERE {{ BIND(<{VECTOR}>(<{EX}e1>) AS ?v) }}"
    expected = {version: sync.at(version).embedding(EX + "e1") for version in (1, 2)}
    views = {
        version: Embeddings.of_version(CommittedVersion(sync.state.version(version)))
        for version in (1, 2)
    }
    both = threading.Barrier(2)

    def asked(version: int) -> list[bool]:
        right = []
        for _ in range(10):
            both.wait(60)
            with kgsync.rdflib_functions(views[version]):
                both.wait(60)
                rows: Any = Graph().query(text)
                (row,) = list(rows)
                right.append(np.array_equal(decode(str(row[0]), LIST), expected[version]))
        return right

    with ThreadPoolExecutor(2) as pool:
        assert [set(right) for right in pool.map(asked, (1, 2))] == [{True}, {True}]
        with kgsync.rdflib_functions(views[1]):
            assert len(pool.submit(lambda: list(Graph().query(text))).result(60)) == 1
    assert list(Graph().query(text)) == []


def test_files_alone_have_vectors_and_a_model(sync: KGSync, ask: Ask) -> None:
    embeddings = kgsync.load(sync.state.path)
    functions = Functions(lambda version: embeddings)
    text = value_of(ask, functions, f"<{VECTOR}>(<{EX}e1>)")
    assert np.array_equal(decode(text, LIST), sync.embedding(EX + "e1"))
    score = value_of(ask, functions, f"<{SCORE}>(<{EX}e1>, <{EX}next>, <{EX}e2>)")
    assert score == sync.at().score(EX + "e1", EX + "next", EX + "e2")
    with pytest.raises(StateError, match="of version 2, not of 1"):
        kgsync.sparql_functions(embeddings, version=1)
    others = kgsync.sparql_functions(embeddings)
    solutions: Any = ox.Store().query(
        f"SELECT (<{VECTOR}>(<{EX}e1>, 1) AS ?v) WHERE {{}}", custom_functions=others
    )
    assert [row[0] for row in solutions] == [None]
    with pytest.raises(QueryError, match="of version 2, not of 1"):
        others.check()


def test_terms_are_those_of_the_store(ask: Ask, tmp_path: Path) -> None:
    text = (
        'SELECT ?a ?b ?c ?d ?e WHERE { BIND("x" AS ?a) BIND("y"@en AS ?b) '
        f"BIND(7 AS ?c) BIND(<{EX}x> AS ?d) }}"
    )
    table = ask(text, {})
    assert table.columns == ("a", "b", "c", "d", "e")
    xsd = "http://www.w3.org/2001/XMLSchema#"
    a, b, c, d, e = table.rows[0]
    assert (a, c, d, e) == (
        Term("literal", "x", xsd + "string"),
        Term("literal", "7", xsd + "integer"),
        Term("iri", EX + "x"),
        None,
    )
    assert b is not None
    assert (b.value, b.language) == ("y", "en")
    assert ask("ASK { }", {}).values() == [(True,)]

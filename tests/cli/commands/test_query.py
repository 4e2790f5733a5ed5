"""`kgsync query` and `KGSync.query`: what is listed, run, printed and refused."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kgsync import KGSync, Table, open_store, queries
from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.cli import main
from kgsync.cli.output import output
from kgsync.config import PublishSettings, Settings, SourceSettings
from kgsync.errors import ConfigError, QueryError, StateError, StateRequestError
from kgsync.graph.port import QueryReader
from kgsync.publish.literals.datatypes import DATATYPES
from kgsync.vectors.functions import COSINE, VECTOR
from tests.servers.server import Server
from tests.worlds import EX, GRAPHS, disk_store, iri, quick_settings, ring


@dataclass(frozen=True)
class Done:
    """What a command returned and printed."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synced store on disk, with its settings."""
    folder = tmp_path_factory.mktemp("query")
    disk_store(folder / "graph.oxigraph", ["1", "2", "10"])
    settings = replace(
        quick_settings(),
        source=SourceSettings(max_removed=1.0),
        publish=PublishSettings(literals="versions"),
    )
    state = folder / ".kgsync" / "graph"
    KGSync(folder / "graph.oxigraph", GRAPHS, state=state, settings=settings).catch_up()
    (folder / "kgsync.toml").write_text(
        f'[source]\nstore = "{folder}/graph.oxigraph"\ngraphs = "{GRAPHS}"\n'
    )
    return folder


@pytest.fixture
def kgsync(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Done]]:
    """Runs a command with the settings of the folder."""

    def run(*arguments: str) -> Done:
        config = ("-c", str(folder / "kgsync.toml"))
        monkeypatch.setattr("sys.argv", ["kgsync", *arguments, *config])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Done(int(ended.value.code or 0), printed.out, printed.err)

    yield run
    output.json = False


Run = Callable[..., Done]


def test_every_query_is_listed_with_its_parameters(kgsync: Run) -> None:
    done = kgsync("query")
    assert done.code == 0
    told = " ".join(done.out.split())
    for name in queries.available():
        assert name in done.out
        assert queries.load(name).summary in told
    assert "integer, default 10: how many" in told
    assert "iri, required: the entity" in told
    document = json.loads(kgsync("query", "--json").out)
    assert [query["name"] for query in document] == queries.available()
    (neighbors,) = [query for query in document if query["name"] == "nearest_neighbors"]
    k = {"name": "k", "type": "integer", "default": "10", "about": "how many"}
    assert k in neighbors["parameters"]


def test_a_query_is_printed_as_a_table_csv_or_json(kgsync: Run) -> None:
    table = kgsync("query", "version_history").out.splitlines()
    assert table[0].split()[:3] == ["version", "issued", "action"]
    assert [line.split()[0] for line in table[1:]] == ["1", "2", "3"]
    rows = list(
        csv.DictReader(io.StringIO(kgsync("query", "version_history", "--format", "csv").out))
    )
    assert [row["version"] for row in rows] == ["1", "2", "3"]
    for form in (["--json"], ["--format", "json"]):
        document = json.loads(kgsync("query", "version_history", *form).out)
        assert [row["version"] for row in document] == ["1", "2", "3"]
        assert document[0]["entities"] == 40
    assert "no rows" in kgsync("query", "old_embeddings").out
    assert json.loads(kgsync("query", "old_embeddings", "--json").out) == []


def test_parameters_are_given_by_name(kgsync: Run) -> None:
    done = kgsync("query", "nearest-neighbors", "-p", f"iri={iri('e1')}", "-p", "k=4", "--json")
    assert len(json.loads(done.out)) == 4
    bracketed = kgsync("query", "nearest_neighbors", "--param", f"iri=<{iri('e1')}>", "--json")
    assert json.loads(bracketed.out)[:4] == json.loads(done.out)
    moved = kgsync("query", "most_moved", "-p", "from=2", "-p", "to=3", "-p", "k=2", "--json")
    assert len(json.loads(moved.out)) == 2


def test_what_is_filled_in_can_be_left_open(kgsync: Run) -> None:
    own = json.loads(kgsync("query", "version_history", "--json").out)
    done = kgsync("query", "version_history", "-p", "metadata=*", "--json")
    assert json.loads(done.out) == own
    assert kgsync("query", "lineage", "-p", "version=*", "--json").code == 0


def test_an_older_version_can_be_asked_about(kgsync: Run) -> None:
    done = kgsync("query", "quality_history", "--at", "2", "--json")
    assert [row["version"] for row in json.loads(done.out)] == ["1", "2"]
    near = ["query", "nearest_neighbors", "-p", f"iri={iri('e8')}", "-p", "k=40", "--json"]
    now, then = json.loads(kgsync(*near).out), json.loads(kgsync(*near, "--at", "2").out)
    assert {row["entity"] for row in now} - {row["entity"] for row in then} == {iri("e7")} - {
        row["entity"] for row in then
    }
    assert now != then
    refused = kgsync("query", "current_vectors", "--at", "2")
    assert refused.code == ConfigError.exit_code
    assert "`at` (`--at`) cannot name the version" in refused.err.replace("\n", " ")
    text = kgsync("query", "SELECT (1 AS ?x) WHERE { }", "--at", "2")
    assert text.code == ConfigError.exit_code


def test_a_vector_is_cut_in_a_table_and_whole_in_csv(kgsync: Run) -> None:
    assert "…" in kgsync("query", "current_vectors").out
    rows = list(
        csv.DictReader(io.StringIO(kgsync("query", "current_vectors", "--format", "csv").out))
    )
    assert all(row["vector"].endswith("]") for row in rows)


def test_a_query_of_ones_own(kgsync: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.rq"
    file.write_text(
        "# How often these predicates are used.\n"
        "# $predicates: iris             which\n"
        "# $least: integer = 1           how often at least\n"
        "# $graph: iri = ?source\n"
        "SELECT ?p (COUNT(*) AS ?n) WHERE { VALUES ?p { $predicates } GRAPH $graph { ?s ?p ?o } }\n"
        "GROUP BY ?p HAVING(COUNT(*) >= $least) ORDER BY ?p\n"
    )
    both = ["-p", f"predicates={iri('likes')}", "-p", f"predicates={iri('next')}"]
    done = kgsync("query", "--file", str(file), *both, "--json")
    assert json.loads(done.out) == [{"p": iri("likes"), "n": 6}, {"p": iri("next"), "n": 40}]
    done = kgsync("query", "--file", str(file), *both, "-p", "least=7", "--json")
    assert [row["n"] for row in json.loads(done.out)] == [40]
    older = kgsync("query", "--file", str(file), *both, "--at", "2", "--json")
    assert [row["p"] for row in json.loads(older.out)] == [iri("next")]


def test_a_text_instead_of_a_name(kgsync: Run) -> None:
    text = f"SELECT (<{COSINE}>(<{iri('e1')}>, <{iri('e1')}>) AS ?c) WHERE {{}}"
    assert json.loads(kgsync("query", text, "--json").out)[0]["c"] == pytest.approx(1)
    assert json.loads(kgsync("query", "ASK { }", "--json").out) == [{"answer": True}]


def test_the_version_behind_the_functions(kgsync: Run) -> None:
    text = f"SELECT (BOUND(?v) AS ?there) WHERE {{ BIND(<{VECTOR}>(<{iri('e9')}>) AS ?v) }}"
    assert json.loads(kgsync("query", text, "--json").out) == [{"there": False}]
    assert json.loads(kgsync("query", text, "--at", "1", "--json").out) == [{"there": True}]
    done = kgsync("query", "lineage", "--at", "9")
    assert done.code == StateRequestError.exit_code
    assert "9" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], r"there is no query named 'nonsense'; known: current_vectors, .*"),
        (["_head"], "there is no query named '_head'"),
        (
            ["lineage", "-p", "x=1"],
            "query lineage takes the parameters metadata, version; given: x",
        ),
        (
            ["nearest_neighbors"],
            "query nearest_neighbors needs the parameter iri: -p iri=…",
        ),
        (["nearest_neighbors", "-p", "iri=e1"], r"\$iri: not an absolute IRI: 'e1'"),
        (["most_moved", "-p", "k=many"], r"\$k must be of type integer, like 10, not 'many'"),
        (["most_moved", "-p", "k=1", "-p", "k=2"], r"\$k takes one value; given: 2"),
        (["quality_drops", "-p", "drop=a bit"], r"\$drop must be of type decimal, like 0.05"),
        (["quality_drops", "-p", "drop=NaN"], r"\$drop: not a decimal number"),
        (["old_embeddings", "-p", "age=old"], r"\$age: an age must be a number with a unit"),
        (["lineage", "-p", "version"], "write a parameter as name=value, not 'version'"),
        (["lineage", "-p", "at=1"], "set the version with --at"),
        (["lineage", "--format", "xml"], "--format must be one of table, csv, json, not 'xml'"),
        (["lineage", "--file", "x.rq"], "give either the name of a query or a file"),
        (["--file", "missing.rq"], "cannot read the query missing.rq"),
        (["CONSTRUCT WHERE { ?s ?p ?o }"], "only SELECT and ASK"),
        (["SELECT nonsense"], r"syntax error in the query, line 1, column 16\s*$"),
        (["SELECT ?s\nWHERE { ?s foo bar"], r"syntax error in the query, line 2, column 17\s*$"),
    ],
)
def test_a_mistake_is_named(kgsync: Run, arguments: list[str], message: str) -> None:
    done = kgsync("query", *arguments)
    assert done.code == ConfigError.exit_code
    assert re.search(message, done.err.replace("\n", " ")), done.err


def test_a_mistake_in_a_file_is_told_with_its_line(kgsync: Run, tmp_path: Path) -> None:
    file = tmp_path / "mine.rq"
    file.write_text("# A comment.\n\nPREFIX e: <http://e/>\nSELECT * WHERE {\n  e:x }\n")
    done = kgsync("query", "--file", str(file))
    assert done.code == ConfigError.exit_code
    assert "syntax error in the query mine.rq, line 5, column" in done.err.replace("\n", " ")


def test_errors_of_the_store_and_of_functions(kgsync: Run) -> None:
    text = f'SELECT (<{COSINE}>("[1"^^<{DATATYPES["list"].iri}>, <{iri("e1")}>) AS ?c) WHERE {{}}'
    done = kgsync("query", text, "--json")
    assert done.code == QueryError.exit_code
    document = json.loads(done.out)
    assert document["error"] == "QueryError"
    assert f"<{COSINE}>" in document["message"]
    assert '"[1"' in document["message"]


def test_nothing_was_published_yet(tmp_path: Path) -> None:
    disk_store(tmp_path / "graph.oxigraph", ["1"])
    sync = KGSync(tmp_path / "graph.oxigraph", GRAPHS, state=tmp_path / "state")
    with pytest.raises(StateError, match="run `kgsync step` first"):
        sync.query("version_history")


def test_what_was_published_is_read_from_a_store_that_became_read_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = disk_store(tmp_path / "kg", ["1", "2"])
    sync = KGSync(path, GRAPHS, state=tmp_path / "state", settings=_lenient())
    sync.catch_up()
    with monkeypatch.context() as patch:
        read_only = OxigraphStore._open_read_only
        patch.setattr(OxigraphStore, "open", lambda target, **_: read_only(Path(target)))
        assert sync.query("version_history").column("version") == ["1", "2"]
        assert not (tmp_path / "state" / "metadata.oxigraph").exists()


def test_a_query_needs_no_source_if_the_metadata_is_in_the_state(tmp_path: Path) -> None:
    file = tmp_path / "graph.nt"
    lines = (f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in ring(20))
    file.write_text("".join(lines))
    sync = KGSync(file, state=tmp_path / "state", settings=quick_settings())
    sync.step()
    file.unlink()
    assert sync.query("version_history").column("version") == ["1"]
    assert len(sync.query("lineage")) > 0
    assert len(sync.query("nearest_neighbors_sidecar", iri=iri("e1"), k=3)) == 3


def test_nothing_is_published_anywhere(tmp_path: Path) -> None:
    file = tmp_path / "graph.nt"
    lines = (f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in ring(20))
    file.write_text("".join(lines))
    settings = replace(quick_settings(), publish=PublishSettings(metadata=False))
    sync = KGSync(file, state=tmp_path / "state", settings=settings)
    sync.step()
    with pytest.raises(StateError, match=r"there is no published embedding of .* yet; check that"):
        sync.query("lineage")


def _lenient() -> Settings:
    return replace(quick_settings(), source=SourceSettings(max_removed=1.0))


# -- tables ----------------------------------------------------------------------------------------


def test_a_table_shows_itself_and_becomes_arrow(folder: Path) -> None:
    sync = KGSync.from_config(folder / "kgsync.toml")
    table = sync.query("version_history")
    assert isinstance(table, Table)
    assert len(table) == 3
    assert repr(table).startswith("3 rows\nversion ")
    arrow = table.to_arrow()
    assert arrow.column_names == list(table.columns)
    assert arrow["entities"].to_pylist() == [40, 40, 40]
    assert str(arrow.schema.field("entities").type) == "int64"
    assert table.rows[0][0] is not None
    assert table.rows[0][0].datatype == "http://www.w3.org/2001/XMLSchema#string"
    vectors = sync.query("current_vectors")
    assert "… and" in str(vectors)
    mixed = sync.query("SELECT ?x WHERE { VALUES ?x { 1 'a' UNDEF true 0.5 } }").to_arrow()
    assert sorted(map(str, mixed["x"].to_pylist())) == ["0.5", "1", "None", "True", "a"]
    by_path = folder / "mine.rq"
    by_path.write_text("SELECT (1 AS ?one) WHERE { }")
    assert sync.query(by_path).values() == [(1,)]


def test_an_endpoint_gives_the_same_kinds_of_terms(oxigraph_server: Server) -> None:
    store = open_store(oxigraph_server.query_url)
    assert isinstance(store, QueryReader)
    text = "SELECT ?x WHERE { VALUES ?x { 'a' 'b'@en 7 true UNDEF <urn:x> } }"
    table: Any = store.query(text, {})
    xsd = "http://www.w3.org/2001/XMLSchema#"
    assert {(t.kind, t.value, t.datatype, t.language) for (t,) in table.rows if t} == {
        ("literal", "a", xsd + "string", None),
        ("literal", "b", None, "en"),
        ("literal", "7", xsd + "integer", None),
        ("literal", "true", xsd + "boolean", None),
        ("iri", "urn:x", None, None),
    }
    assert store.query("ASK { }", {}).values() == [(True,)]
    for other in ("CONSTRUCT WHERE { ?s ?p ?o }", f"# all\nPREFIX e: <{EX}>\ndescribe e:x"):
        with pytest.raises(ConfigError, match="only SELECT and ASK"):
            store.query(other, {})
    assert store.query(f"SELECT ?x WHERE {{ ?x <{EX}nothing> ?y }}", {}).rows == []

"""What commands say: about mistakes, damage, files and progress; and that it fits 80 columns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyoxigraph as ox
import pytest

from tests.processes import kgsync
from tests.worlds import GRAPHS, QUICK, disk_store, iri, ring


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["accept"], "nothing is paused"),
        (["rollback", "41"], "there is no embedding version 41 in .kgsync/kg; versions with"),
        (["neighbors", iri("e1"), "--at", "99"], "there is no embedding version 99"),
        (["export", "nowhere/vectors.vec"], "No such file or directory; choose another path"),
    ],
)
def test_a_wrong_request_is_not_an_error_of_the_state(
    project: Path, arguments: list[str], message: str
) -> None:
    assert kgsync(project, "step").returncode == 0
    done = kgsync(project, *arguments)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr.replace("\n", " ")


def test_going_back_to_the_current_version_says_so(project: Path) -> None:
    assert kgsync(project, "step", "--all").returncode == 0
    assert "version 2 is already current" in kgsync(project, "rollback", "2").stdout
    assert "version 1 of" in kgsync(project, "rollback", "1").stdout
    told = kgsync(project, "status").stdout.splitlines()
    assert [line.split()[1] for line in told if line[:2] in ("1 ", "2 ")] == ["*", "2"]
    assert "* the current version" in told


def test_damaged_files_are_named_by_the_status_and_the_way_back_by_errors(project: Path) -> None:
    assert kgsync(project, "step", "--all").returncode == 0
    assert "damaged" not in kgsync(project, "status").stdout
    state = project / ".kgsync" / "kg"
    (state / "000001" / "graph" / "terms.parquet").unlink()
    told = kgsync(project, "status").stdout
    assert "000001/graph/terms.parquet: No such file" in told
    edges = state / "000002" / "graph" / "edges.safetensors"
    edges.write_bytes(edges.read_bytes()[:-1])
    told = kgsync(project, "status").stdout
    assert "000002/graph/edges.safetensors: " in told
    document = json.loads(kgsync(project, "status", "--json").stdout)
    assert len(document["damaged_files"]) == 2


@pytest.mark.parametrize("name", ["graph/edges.safetensors", "manifest.json", "."])
def test_an_error_about_the_current_version_names_the_version_to_go_back_to(
    project: Path, name: str
) -> None:
    with (project / "kgsync.toml").open("a") as file:
        file.write("[publish]\nliterals = 'none'\n")
    assert kgsync(project, "step", "--all").returncode == 0
    damaged = project / ".kgsync" / "kg" / "000002" / name
    if damaged.is_dir():
        shutil.rmtree(damaged)
    else:
        damaged.write_bytes(damaged.read_bytes()[:-1])
    done = kgsync(project, "neighbors", iri("e1"))
    if done.returncode == 0:  # these vectors are whole
        done = kgsync(project, "plan")
    assert done.returncode == 5
    assert "; run `kgsync rollback 1`, or restore" in done.stderr.replace("\n", " ")
    assert kgsync(project, "rollback", "1").returncode == 0
    assert kgsync(project, "step").returncode == 0


def test_a_syntax_error_in_the_scope_names_its_file(project: Path) -> None:
    _scope(project, '"sc.rq"')
    (project / "sc.rq").write_text("SELECT ?s ?p ?o WHERE { GRAPH $graph { ?s ?p } }")
    for command in (["step"], ["plan"], ["rebuild"]):
        done = kgsync(project, *command)
        assert done.returncode == 2, done.stderr
        assert "sc.rq" in done.stderr
        assert "syntax error in the scope" in done.stderr
    assert "syntax error in the scope" in kgsync(project, "check").stdout


def test_a_scope_is_a_file(project: Path) -> None:
    _scope(project, '"SELECT ?s ?p ?o WHERE { GRAPH $graph { ?s ?p ?o } }"')
    done = kgsync(project, "plan")
    assert done.returncode == 2
    assert "scope is the name of a file" in done.stderr


def test_a_changed_scope_is_told_without_checksums(project: Path) -> None:
    _scope(project, '"sc.rq"')
    query = "SELECT ?s ?p ?o WHERE { GRAPH $graph { ?s ?p ?o } }"
    (project / "sc.rq").write_text(query)
    assert kgsync(project, "step").returncode == 0
    (project / "sc.rq").write_text(f"{query} # changed")
    done = kgsync(project, "plan")
    assert done.returncode == 5
    assert "sc.rq has changed)" in done.stderr


def _scope(project: Path, value: str) -> None:
    """Set the scope in the settings of a project."""
    text = (project / "kgsync.toml").read_text()
    (project / "kgsync.toml").write_text(text.replace("max_", f"scope = {value}\nmax_", 1))


def test_a_long_iri_does_not_hide_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ox.Store(str(tmp_path / "kg"))
    long = iri("e1-" + "long/" * 60)
    edges = [(ox.NamedNode(iri(s) if s != "e1" else long), p, o) for s, p, o in ring(40)]
    store.extend(
        ox.Quad(s, ox.NamedNode(iri(p)), ox.NamedNode(iri(o)), ox.NamedNode(iri("kg/1")))
        for s, p, o in edges
    )
    del store
    (tmp_path / "kgsync.toml").write_text(QUICK.format(graphs=GRAPHS))
    assert kgsync(tmp_path, "step").returncode == 0
    monkeypatch.setenv("COLUMNS", "80")
    near = kgsync(tmp_path, "neighbors", f" <{iri('e3')}> ", "-k", "40").stdout
    assert max(map(len, near.splitlines())) <= 80
    document = json.loads(kgsync(tmp_path, "neighbors", iri("e3"), "-k", "40", "--json").stdout)
    assert long in {each["iri"] for each in document}
    arguments = ("--head", f"<{iri('e3')}>", "--relation", f"<{iri('next')}>", "-k", "41")
    told = kgsync(tmp_path, "predict", *arguments).stdout
    assert max(map(len, told.splitlines())) <= 80
    listed = kgsync(tmp_path, "query").stdout
    assert max(map(len, listed.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["backtest", "--methods", ","], "--methods is empty"),
        (["backtest", "--methods", ""], "--methods is empty"),
        (["backtest", "--models", " "], "--models is empty"),
        (["settings", "--json", "--markdown"], "one of --json and --markdown"),
        (["query", "--format", "csv", "--json"], "one of --json and --format csv"),
    ],
)
def test_options_that_contradict_or_say_nothing_are_refused(
    project: Path, arguments: list[str], message: str
) -> None:
    done = kgsync(project, *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_progress_in_a_pipe_is_one_line_per_version(project: Path) -> None:
    told = kgsync(project, "step", "--all").stderr.splitlines()
    versions = [line for line in told if line.startswith("version ")]
    assert [line.partition(",")[0] for line in versions] == [
        f"version 1: trained from {GRAPHS.format(version=1)}",
        f"version 2: updated from {GRAPHS.format(version=2)}",
    ]


def test_the_moves_of_a_relation_need_its_kind(project: Path) -> None:
    assert kgsync(project, "step").returncode == 0
    done = kgsync(project, "moves", iri("next"))
    assert done.returncode == 7
    assert "there is a relation: add --kind relation" in done.stderr.replace("\n", " ")
    assert kgsync(project, "moves", f"<{iri('next')}>", "--kind", "relation").returncode == 0


def test_check_of_an_endpoint_that_is_down_says_to_try_later(project: Path) -> None:
    done = kgsync(project, "check", "http://127.0.0.1:9/sparql", "--graphs", GRAPHS)
    assert done.returncode == 3, done.stdout
    assert "it cannot be reached: the connection was refused" in done.stdout
    assert kgsync(project, "check", "nowhere").returncode == 4


def test_check_tells_the_truth_about_files(tmp_path: Path) -> None:
    (tmp_path / "dumps").mkdir()
    for number in (1, 2):
        lines = (f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in ring(30 + number))
        (tmp_path / "dumps" / f"kg-{number}.nt").write_text("".join(lines))
    told = kgsync(tmp_path, "check", "dumps").stdout
    assert "dumps: RDF files" in told
    assert "2 in the order of the numbers in their names" in told
    assert "found by reading all of it" in told
    assert "files are only read: metadata is kept in the state" in told
    assert "update_url" not in told
    (tmp_path / "changes").mkdir()
    (tmp_path / "dumps" / "kg-1.nt").rename(tmp_path / "base.nt")
    shutil.rmtree(tmp_path / "dumps")
    (tmp_path / "log" / "changes").mkdir(parents=True)
    (tmp_path / "base.nt").rename(tmp_path / "log" / "base.nt")
    line = f"<{iri('a')}> <{iri('next')}> <{iri('b')}> .\n"
    (tmp_path / "log" / "changes" / "0001.added.nt").write_text(line)
    assert "found from recorded changes" in kgsync(tmp_path, "check", "log").stdout


def test_an_export_without_kinds_cannot_be_adopted(project: Path) -> None:
    assert kgsync(project, "step").returncode == 0
    for name in ("v.parquet", "v.npz"):
        assert kgsync(project, "export", name).returncode == 0
    (project / "other").mkdir()
    disk_store(project / "other" / "kg", ["1"])
    arguments = ("init", "other/kg", "--graphs", GRAPHS, "-c", "other/new.toml", "--from")
    done = kgsync(project, *arguments, "v.parquet")
    assert done.returncode == 2
    told = done.stderr.replace("\n", " ")
    assert "v.parquet has no column kind; kgsync adopts the vectors.parquet of a version" in told
    assert "FieldRef" not in told
    assert kgsync(project, *arguments, "v.npz").returncode == 0

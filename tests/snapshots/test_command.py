"""`kgsync snapshots` as a user meets it: real files, real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync.cli.commands.snapshots import COMMANDS
from kgsync.graph.stores import opened
from kgsync.graph.versions import find_versions
from tests.processes import kgsync
from tests.snapshots.files import write
from tests.snapshots.test_changes import history
from tests.snapshots.test_higgs import higgs
from tests.snapshots.test_nell import nell_file

BELIEFS = tuple((f"e{i % 9}", f"r{i % 3}", f"e{i % 7}", str(i % 50)) for i in range(80))
CASES = [
    (["window", "asks.txt.gz", "--versions", "4", "--share", "0.3", "--min-degree", "2"], 4),
    (["synthetic", "static.txt", "--versions", "3", "--seed", "5"], 3),
    (["changing", "static.txt", "--change", "0.1,0.2", "--start", "0.7"], 3),
    (["nell", "NELL.08m.1115.esv.csv.gz", "--versions", "2"], 2),
    (["higgs", "higgs", "--versions", "2", "--catalog", "http://example.org/catalog"], 2),
    (["changes", "history", "--graphs", "http://example.org/kg/{version}"], 3),
]
"""A call of every command of the group, and the versions it loads."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Inputs of every kind."""
    for relation in ("asks", "answers"):
        rows = (f"{i % 11} {i % 7} {1_600_000_000 + 86_400 * i}" for i in range(60))
        write(tmp_path / f"{relation}.txt.gz", *rows)
    write(tmp_path / "static.txt", *(f"/m/{i % 13}\t/r/{i % 3}\t/m/{i % 11}" for i in range(200)))
    write(tmp_path / "bad.txt", "1 2 3", "1 2 x")
    higgs(tmp_path / "higgs")
    history(tmp_path / "history")
    nell_file(tmp_path, *BELIEFS)
    return tmp_path


def test_every_command_of_the_group_is_a_case() -> None:
    assert sorted(arguments[0] for arguments, _ in CASES) == sorted(COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "versions"),
    CASES,
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_command_loads_versions_that_kgsync_finds(
    folder: Path, arguments: list[str], versions: int
) -> None:
    done = kgsync(folder, "snapshots", *arguments, "--store", "kg", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert len(report["versions"]) == versions
    assert all(version["loaded"] and version["triples"] for version in report["versions"])
    with opened(folder / "kg") as store:
        found = find_versions(store, report["graphs"], report["catalog"])
    assert found.order == "chain"
    assert [version.name for version in found.versions] == [v["graph"] for v in report["versions"]]


def test_a_session_from_raw_files_to_a_plan(folder: Path) -> None:
    files = ("asks.txt.gz", "answers.txt.gz")
    command = ("snapshots", "window", *files, "--store", "kg", "--versions", "4")
    assert kgsync(folder, *command).returncode == 0
    again = kgsync(folder, *command)
    assert again.stdout.count("already there") == 4
    graphs = "http://example.org/version/{version}"
    assert f"next: kgsync init kg --graphs '{graphs}'" in again.stdout
    config = kgsync(folder, "init", "kg", "--graphs", graphs)
    assert "4 graph versions, ordered by chain" in config.stdout
    plan = json.loads(kgsync(folder, "plan", "--json").stdout)
    assert plan["graph_version"] == "http://example.org/version/0"


def test_the_table_shows_what_changes_from_version_to_version(folder: Path) -> None:
    done = kgsync(folder, "snapshots", "changes", "history", "--store", "kg")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["version", "issued", "triples", "entities", "relations", "added", "deleted"]
    assert rows[1] == ["0", "5", "3", "1", "+2", "-0", "loaded"]
    assert rows[2] == ["1", "5", "5", "1", "+2", "-1", "loaded"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["window", "none.txt", "--store", "kg"], 2, "there is no file none.txt"),
        (["window", "bad.txt", "--store", "kg"], 2, "bad.txt, line 2: the time"),
        (["window", "asks.txt.gz", "--store", "."], 2, "is not a store"),
        (["window", "asks.txt.gz", "--store", "kg", "--graphs", "http://x/"], 2, "{version}"),
        (["window", "asks.txt.gz", "--store", "no/where"], 4, "no/where"),
    ],
)
def test_a_user_error_is_one_sentence_and_leaves_no_store(
    folder: Path, arguments: list[str], code: int, message: str
) -> None:
    done = kgsync(folder, "snapshots", *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("kgsync: ")]) == 1
    assert not (folder / "kg").exists()


def test_a_store_that_is_open_elsewhere_can_be_tried_again_later(folder: Path) -> None:
    held = ox.Store(str(folder / "kg"))
    done = kgsync(folder, "snapshots", "window", "asks.txt.gz", "--store", "kg")
    assert done.returncode == 3
    assert "open in another process" in done.stderr
    assert len(held) == 0


def test_other_settings_on_the_same_graphs_are_refused(folder: Path) -> None:
    command = ("snapshots", "synthetic", "static.txt", "--store", "kg", "--versions", "2")
    assert kgsync(folder, *command).returncode == 0
    done = kgsync(folder, *command, "--seed", "9", "--json")
    assert done.returncode == 4
    assert "other data or with other settings" in json.loads(done.stdout)["message"]

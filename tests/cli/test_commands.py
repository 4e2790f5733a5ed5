"""What holds for every command: one file of its name, a place in the help, JSON for scripts."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

from kgsync.cli import commands
from kgsync.cli.app import app
from kgsync.cli.commands import COMMANDS, snapshots
from kgsync.cli.declaration import CommandDeclaration, Panel
from tests.processes import kgsync
from tests.worlds import GRAPHS, QUICK, disk_store, iri

CASES: dict[str, tuple[list[str], int]] = {
    "accept": ([], 2),  # nothing is paused
    "backtest": (["--methods", "frozen", "--no-plots"], 0),
    "check": ([], 0),
    "compact": ([], 0),
    "demo": (["."], 2),  # the folder is not empty; the whole demo takes a minute
    "export": (["vectors.npz"], 0),
    "init": (["kg", "--graphs", GRAPHS, "--force"], 0),
    "moves": ([iri("new")], 0),
    "neighbors": ([iri("e1")], 0),
    "plan": ([], 0),
    "predict": (["--head", iri("e1"), "--relation", iri("next")], 0),
    "query": (["version_history"], 0),
    "rebuild": ([], 0),
    "rollback": (["1"], 0),
    "run": (["--every", "often"], 2),  # else it runs until a signal; see tests/service
    "settings": (["update"], 0),
    "snapshots": (["window", "facts.txt", "--store", "new", "--versions", "2"], 0),
    "status": ([], 0),
    "step": ([], 0),
}
"""Arguments of every command in a synced project, and the exit code."""

every_group = pytest.mark.parametrize(
    ("package", "found"),
    [
        pytest.param(commands, COMMANDS, id="kgsync"),
        pytest.param(snapshots, snapshots.COMMANDS, id="snapshots"),
    ],
)
Commands = Mapping[str, CommandDeclaration]


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose two versions are committed."""
    folder = tmp_path_factory.mktemp("synced")
    disk_store(folder / "kg", ["1", "2"])
    (folder / "kgsync.toml").write_text(QUICK.format(graphs=GRAPHS))
    (folder / "facts.txt").write_text("".join(f"{i % 7} {i % 11} {i}\n" for i in range(60)))
    done = kgsync(folder, "step", "--all")
    assert done.returncode == 0, done.stderr
    return folder


def test_every_command_is_a_case() -> None:
    assert set(CASES) == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_command_prints_one_json_document(name: str, synced: Path, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    shutil.copytree(synced, folder)
    arguments, code = CASES[name]
    done = kgsync(folder, name, *arguments, "--json")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict | list)
    if code:
        assert set(document) >= {"error", "message"}


@every_group
def test_a_command_is_a_file_of_its_name_that_explains_itself(
    package: ModuleType, found: Commands
) -> None:
    assert {file.name for file in iter_modules(package.__path__)} == set(found)
    for name, declared in found.items():
        assert declared.name == name
        assert (declared.panel is None) == (package is snapshots)
        if isinstance(declared.command, typer.Typer):
            assert declared.command.info.help
        else:
            assert declared.command.__module__ == f"{package.__name__}.{name}"
            assert (inspect.getdoc(declared.command) or "").partition("\n")[0].endswith(".")


@every_group
def test_no_two_commands_have_the_same_place(package: ModuleType, found: Commands) -> None:
    places = [(declared.panel, declared.place) for declared in found.values()]
    assert len(set(places)) == len(places)


def test_the_help_has_its_panels_and_commands_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = CliRunner().invoke(app, ["--help"]).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    heads = [line.strip("╭╮─ ") for line in lines if line.startswith("╭")]
    assert heads == ["Options", *Panel]
    shown = [line.split()[1] for line in lines if line.startswith("│ ") and line[2] != " "]
    wanted = [
        declared.name
        for panel in Panel
        for declared in sorted(COMMANDS.values(), key=lambda each: each.place)
        if declared.panel == panel
    ]
    assert [name for name in shown if not name.startswith("-")] == wanted

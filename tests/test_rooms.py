"""Every room imports only the rooms below it, lazily or not."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMON = {"common", "errors"}
"""What everyone may import."""
BELOW_SERVICE = {"graph", "models", "evaluation", "training", "state", "source", "publish"}
BELOW_CONFIG = BELOW_SERVICE | {"queries", "vectors", "service"}
BELOW_SYNC = BELOW_CONFIG | {"config"}
ALL = BELOW_SYNC | {"sync", "backtest", "snapshots", "kgsync"}
ALLOWED: dict[str, set[str]] = {
    "common": set(),
    "queries": set(),
    "graph": {"queries"},
    "models": set(),
    "evaluation": {"graph", "models"},
    "training": {"graph", "models", "evaluation"},
    "state": {"graph"},
    "source": {"graph", "queries"},
    "publish": {"graph", "state", "queries"},
    "vectors": {"graph", "models", "state", "publish", "queries"},
    "service": BELOW_SERVICE | {"queries", "vectors"},
    "config": BELOW_CONFIG,
    "backtest": BELOW_SYNC,
    "snapshots": {"graph", "queries"},
    "adapters": {"graph", "queries"},
    "cli": ALL,
}
"""Besides itself and what everyone may import; `kgsync` is the root with its public names."""


def files_of(room: str) -> list[Path]:
    folder = ROOT / room if room in ("adapters", "queries") else ROOT / "kgsync" / room
    return sorted(folder.rglob("*.py"))


def imported(path: Path) -> set[str]:
    """Names directly below `kgsync` that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "kgsync":
            for alias in node.names:
                names.add(alias.name if _is_module(alias.name) else "kgsync")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kgsync."):
            names.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "kgsync":
                    names.add("kgsync")
                elif alias.name.startswith("kgsync."):
                    names.add(alias.name.split(".")[1])
    return names


def _is_module(name: str) -> bool:
    folder = ROOT / "kgsync" / name
    return folder.is_dir() or folder.with_suffix(".py").is_file()


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_only_what_is_below_it(room: str) -> None:
    assert files_of(room)
    for path in files_of(room):
        stray = imported(path) - ALLOWED[room] - COMMON - {room}
        assert not stray, f"{path.relative_to(ROOT)} imports {', '.join(sorted(stray))}"


def test_no_room_imports_itself_by_a_detour() -> None:
    rooms = {room: set().union(*map(imported, files_of(room))) - {room} for room in ALLOWED}
    tuple(TopologicalSorter(rooms).static_order())  # raises CycleError


def test_errors_imports_nothing() -> None:
    assert not imported(ROOT / "kgsync" / "errors.py")


def test_the_root_holds_only_what_a_newcomer_must_see() -> None:
    modules = {path.stem for path in (ROOT / "kgsync").glob("*.py")}
    assert modules == {"__init__", "__main__", "errors", "sync"}


def test_every_room_has_its_rule() -> None:
    rooms = {path.parent.name for path in (ROOT / "kgsync").glob("*/__init__.py")}
    assert rooms == set(ALLOWED)


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_every_room_says_what_it_is_for(room: str) -> None:
    folder = files_of(room)[0].parent
    doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text(encoding="utf-8")))
    assert doc
    assert len(doc) > 40

"""The rooms import only what stands before them on the line."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMON = {"durable", "errors", "memory", "printable", "queries"}
ALLOWED = {
    "adapters": {"adapters", "graph"},
    "backtest": {
        "backtest",
        "config",
        "config_differences",
        "evaluation",
        "graph",
        "listener",
        "models",
        "reading",
        "seeds",
        "training",
    },
    "evaluation": {"config", "evaluation", "graph", "models"},
    "graph": {"graph"},
    "models": {"config", "models"},
    "publish": {"graph", "publish"},
    "queries": {"durations"},
    "snapshots": {"graph", "snapshots"},
    "training": {"config", "evaluation", "graph", "models", "seeds", "training"},
}


def imported(path: Path) -> set[str]:
    """Names directly below `kgsync` that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "kgsync":
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kgsync."):
            names.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("kgsync.")}
    return names


@pytest.mark.parametrize("room", sorted(ALLOWED))
def test_a_room_imports_nothing_from_behind_it(room: str) -> None:
    folder = ROOT / room if room in ("adapters", "queries") else ROOT / "kgsync" / room
    files = list(folder.rglob("*.py"))
    assert files
    for path in files:
        stray = imported(path) - ALLOWED[room] - COMMON
        assert not stray, f"{path.relative_to(ROOT)} imports {stray}"


def test_every_room_has_its_rule() -> None:
    rooms = {path.name for path in (ROOT / "kgsync").iterdir() if (path / "__init__.py").exists()}
    assert rooms == set(ALLOWED) | {"cli"}

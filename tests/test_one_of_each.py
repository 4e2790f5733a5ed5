"""Things that there is one of: a second one would be written by mistake."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def sources() -> Iterator[Path]:
    """Every Python file that is installed, once: adapters and queries are linked into kgsync."""
    for folder in ("kgsync", "adapters", "queries"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.is_relative_to(ROOT / "kgsync/adapters"):
                continue
            if not path.is_relative_to(ROOT / "kgsync/queries"):
                yield path


def holding(text: str) -> set[str]:
    """The files that have a text in them."""
    found = (path for path in sources() if text in path.read_text(encoding="utf-8"))
    return {str(path.relative_to(ROOT)) for path in found}


def imported(path: Path) -> set[str]:
    """The modules that a file imports, at its top or inside a function."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize(
    ("text", "home"),
    [
        ("fcntl.flock(", "kgsync/common/locks.py"),
        ("random.uniform(", "kgsync/common/retrying.py"),
        ("str.maketrans(", "kgsync/common/rdf_terms.py"),
        ("https://w3id.org/kgsync/ns#", "kgsync/common/rdf_terms.py"),
        (":06d}", "kgsync/state/directory.py"),
        ("[0-9A-Fa-f]{8}", "kgsync/common/rdf_terms.py"),
        ('"""The hash of the edge between three IRIs."""', "kgsync/graph/edge_hash.py"),
    ],
)
def test_there_is_one(text: str, home: str) -> None:
    assert holding(text) == {home}


def test_one_file_spells_the_hash_of_an_edge_in_sparql() -> None:
    found = [
        path.name
        for path in (ROOT / "queries").glob("*.rq")
        if "MD5(CONCAT(MD5(" in path.read_text(encoding="utf-8")
    ]
    assert found == ["_expression_edge_hash.rq"]


def test_the_core_imports_no_adapter_by_name() -> None:
    for path in sources():
        if not path.is_relative_to(ROOT / "adapters"):
            stray = {name for name in imported(path) if name.startswith("kgsync.adapters")}
            assert not stray, path


def test_queries_need_only_what_is_common() -> None:
    allowed = ("kgsync.common.", "kgsync.errors.", "kgsync.queries.")
    for path in (ROOT / "queries").glob("*.py"):
        names = {name for name in imported(path) if name.startswith("kgsync")}
        assert all(name.startswith(allowed) for name in names), path


def test_reading_vectors_imports_neither_torch_nor_numba() -> None:
    names = ["embeddings", "export", "functions", "nearest", "query_checks", "reader", "sources"]
    code = (
        f"import sys, importlib\nfor name in {names}:\n"
        "    importlib.import_module(f'kgsync.vectors.{name}')\n"
        "print(sorted({'torch', 'numba'} & sys.modules.keys()))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"

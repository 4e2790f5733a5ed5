"""The examples run and show what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox

from kgsync import KGSync
from tests.worlds import GRAPHS, fill, quick_settings

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *arguments: str) -> str:
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_following_a_live_graph() -> None:
    shown = run("follow_a_live_graph.py")
    assert "version 1: trained" in shown
    assert "nothing new (version 1" in shown
    assert "version 2: updated" in shown
    assert "near the new harbour" in shown


def test_reading_the_files_without_kgsync(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    report = KGSync(store, GRAPHS, state=tmp_path, settings=quick_settings()).step()
    assert report.files is not None
    shown = run("read_the_files.py", report.files)
    assert "40 entities, 8 numbers each" in shown


def test_every_example_is_listed_and_tested() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    tested = Path(__file__).read_text()
    for path in EXAMPLES.glob("*.py"):
        assert f"`{path.name}`" in listed
        assert f'"{path.name}"' in tested

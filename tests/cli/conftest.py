"""A small project that tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds import GRAPHS, QUICK, disk_store


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a store of two versions and a settings file."""
    disk_store(tmp_path / "kg", ["1", "2"])
    (tmp_path / "kgsync.toml").write_text(QUICK.format(graphs=GRAPHS))
    return tmp_path

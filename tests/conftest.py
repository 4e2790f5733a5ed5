"""Fixtures that every test file shares."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data sets, or a skip that says what is missing."""
    folder = Path(os.environ.get("KGSYNC_TEST_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real data sets are not at {folder}; set KGSYNC_TEST_DATA")
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB of its own."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mounting a small file system needs root and the right to mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)

"""Fixtures that every test file shares."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest

from kgsync.training.cpu.kernel_texts import digest_of_texts

pytest_plugins = ["tests.servers.fixtures"]

# Tests, and the processes they start, never use kernels that were compiled from another text.
_KERNELS = Path(gettempdir()) / f"kgsync-kernels-{digest_of_texts()}"
_KERNELS.mkdir(mode=0o700, exist_ok=True)
os.environ["NUMBA_CACHE_DIR"] = str(_KERNELS)
# Threads of torch that wait for work leave the CPUs to the other processes; read when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def pytest_configure(config: pytest.Config) -> None:
    """Compile the kernels before there are several processes that would all do it."""
    if getattr(config.option, "numprocesses", None):
        code = (
            "from kgsync.config import ModelSettings\n"
            "from kgsync.training.cpu.compiling import load_kernels\n"
            "load_kernels(ModelSettings())"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


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
    subprocess.run(["umount", "--lazy", str(folder)], check=True)

"""Compiled kernels are loaded from where only this user can write, and from nowhere else."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kgsync.common import kernel_folders
from kgsync.common.kernel_folders import is_ours, private_folder
from tests.thinning import thinned

CODE = """
import logging
from kgsync.common.compiled import compiled
import kernel
print(kernel.twice.stats.cache_path)
assert kernel.twice(21) == 42
print(sum(kernel.twice.stats.cache_hits.values()))
"""
KERNEL = """
from kgsync.common.compiled import compiled
@compiled()
def twice(x):
    return 2 * x
"""
OTHER = 12345
"""The id of some other user."""


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder that everybody may enter; those of pytest are closed, and so is all that is in."""
    is_ours.cache_clear()
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def ran(folder: Path, **environment: str | None) -> tuple[str, int, str]:
    """Where a kernel was kept by a process of its own, whether it was loaded, and what it said."""
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "kernel.py").write_text(KERNEL, encoding="utf-8")
    places = os.pathsep.join([str(folder / "code"), os.environ.get("PYTHONPATH", "")])
    given = {**os.environ, "PYTHONPATH": places, **environment}
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={name: value for name, value in given.items() if value is not None},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, hits = done.stdout.split()
    return where, int(hits), done.stderr


class Evil:
    """Runs code as it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("echo owned >&2",)


def poisoned(where: str) -> None:
    """Somebody else replaces the files of a kernel."""
    files = [*Path(where).glob("*.nb[ic]")]
    assert files
    for file in files:
        file.write_bytes(pickle.dumps(Evil()))


def test_a_kernel_in_a_folder_of_ours_is_loaded_the_second_time(base: Path) -> None:
    folder = base / "own"
    folder.mkdir(mode=0o700)
    for hits in (0, 1):
        where, found, said = ran(base, NUMBA_CACHE_DIR=str(folder))
        assert (found, said) == (hits, "")
        assert where.startswith(str(folder))


@pytest.mark.parametrize(
    "mode", thinned([0o777, 0o775, 0o757, 0o1777], {0o775, 0o757}.__contains__)
)
def test_what_others_can_write_is_not_loaded(base: Path, mode: int) -> None:
    folder, private = base / "shared", base / "cache"
    folder.mkdir()
    ran(base, NUMBA_CACHE_DIR=str(folder), XDG_CACHE_HOME=str(private))
    (inner,) = folder.iterdir()
    poisoned(str(inner))
    inner.chmod(mode)
    for hits in (0, 1):
        where, found, said = ran(base, NUMBA_CACHE_DIR=str(folder), XDG_CACHE_HOME=str(private))
        assert (found, said) == (hits, "")
        assert where.startswith(str(private / "kgsync-kernels"))
    assert (private / "kgsync-kernels").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_nor_is_what_is_below_a_folder_that_others_can_write(base: Path, mode: int) -> None:
    folder = base / "shared"
    folder.mkdir()
    ran(base, NUMBA_CACHE_DIR=str(folder / "deep"), XDG_CACHE_HOME=str(base / "cache"))
    poisoned(str(next((folder / "deep").iterdir())))
    folder.chmod(mode)
    where, found, said = ran(
        base, NUMBA_CACHE_DIR=str(folder / "deep"), XDG_CACHE_HOME=str(base / "cache")
    )
    assert (found, said) == (0, "")
    assert where.startswith(str(base / "cache"))


def test_beside_the_source_it_is_the_same(base: Path) -> None:
    where, _, _ = ran(base, NUMBA_CACHE_DIR=None, XDG_CACHE_HOME=str(base / "cache"))
    assert where == str(base / "code" / "__pycache__")
    poisoned(where)
    (base / "code" / "__pycache__").chmod(0o777)
    where, found, said = ran(base, NUMBA_CACHE_DIR=None, XDG_CACHE_HOME=str(base / "cache"))
    assert (found, said) == (0, "")
    assert where.startswith(str(base / "cache"))


def test_without_any_folder_of_ours_it_is_compiled_in_memory_and_said_why(base: Path) -> None:
    shared = base / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    (base / "tmp").mkdir()
    (base / "tmp").chmod(0o777)
    where, found, said = ran(
        base,
        NUMBA_CACHE_DIR=str(shared),
        XDG_CACHE_HOME=str(shared / "cache"),
        TMPDIR=str(base / "tmp"),
    )
    assert (where, found) == ("None", 0)
    assert said.count("\n") == 1
    assert "set NUMBA_CACHE_DIR" in said


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")


@needs_root
def test_files_and_folders_of_others_are_not_loaded(base: Path) -> None:
    folder, private = base / "own", base / "cache"
    folder.mkdir(mode=0o700)
    where, _, _ = ran(base, NUMBA_CACHE_DIR=str(folder), XDG_CACHE_HOME=str(private))
    poisoned(where)
    for file in Path(where).glob("*.nbc"):
        os.chown(file, OTHER, OTHER)
    where, found, said = ran(base, NUMBA_CACHE_DIR=str(folder), XDG_CACHE_HOME=str(private))
    assert (found, said) == (0, "")
    assert where.startswith(str(private))
    poisoned(where)
    for file in Path(where).glob("*.nb[ic]"):
        os.chown(file, OTHER, OTHER)
    where, found, said = ran(base, NUMBA_CACHE_DIR=str(folder), XDG_CACHE_HOME=str(private))
    assert (found, said) == (0, "")
    assert where.startswith(str(private))


@needs_root
def test_a_private_folder_that_somebody_else_made_first_is_not_taken(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = base / "first", base / "second"
    monkeypatch.setattr(kernel_folders, "_candidates", lambda: iter([first, second]))
    first.mkdir(mode=0o700)
    os.chown(first, OTHER, OTHER)
    assert private_folder() == second
    first.rmdir()
    (base / "theirs").mkdir(mode=0o700)
    first.symlink_to(base / "theirs")
    assert private_folder() == second
    first.unlink()
    assert private_folder() == first


@pytest.mark.parametrize(
    ("modes", "ours"),
    [
        ({"a": 0o755, "a/b": 0o755}, True),
        ({"a": 0o700, "a/b": 0o777}, True),  # nobody else comes so far
        ({"a": 0o1777, "a/b": 0o700}, True),  # as in /tmp
        ({"a": 0o1777, "a/b": 0o755}, True),
        ({"a": 0o755, "a/b": 0o1777}, False),  # anybody may add a file
        ({"a": 0o777, "a/b": 0o700}, False),  # anybody may put another folder there
        ({"a": 0o755, "a/b": 0o775}, False),
        ({"a": 0o775, "a/b": 0o755}, False),
    ],
)
def test_which_folders_are_ours(base: Path, modes: dict[str, int], ours: bool) -> None:
    for name in modes:
        (base / name).mkdir()
    for name, mode in reversed(modes.items()):
        (base / name).chmod(mode)
    assert is_ours(base / "a" / "b") is ours
    is_ours.cache_clear()
    (base / "link").symlink_to(base / "a" / "b")
    assert is_ours(base / "link") is ours


def test_a_file_that_others_can_write_or_a_link_is_not_ours(base: Path) -> None:
    folder = base / "a"
    folder.mkdir()
    kernel = folder / "x.nbi"
    kernel.touch(mode=0o644)
    assert is_ours(folder)
    kernel.chmod(0o666)
    is_ours.cache_clear()
    assert not is_ours(folder)
    kernel.unlink()
    kernel.symlink_to("/etc/passwd")
    is_ours.cache_clear()
    assert not is_ours(folder)

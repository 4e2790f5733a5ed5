"""The one file lock, and files that are there whole or not at all."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from kgsync.common.durable import UNFINISHED, unfinished, write_file
from kgsync.common.locks import HeldError, is_held, take_lock
from kgsync.common.retrying import Retry


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_held(path)
    with path.open("wb") as first:
        assert not is_held(path)
        take_lock(first, path)
        assert is_held(path)
        with path.open("rb") as second, pytest.raises(HeldError):
            take_lock(second, path)
    assert not is_held(path)
    with path.open("rb") as second:
        take_lock(second, path)


def test_a_lock_can_be_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for retry in (None, Retry(400, first=0.05, most=0.05, transient=(BlockingIOError,))):
        first = path.open("wb")
        take_lock(first, path)
        threading.Timer(0.2, first.close).start()
        start = time.monotonic()
        with path.open("rb") as second:
            take_lock(second, path, retry)
        assert time.monotonic() - start > 0.1


@pytest.mark.parametrize("lasting", [True, False])
def test_a_file_is_replaced_in_one_step(tmp_path: Path, lasting: bool) -> None:
    path = tmp_path / "file"
    write_file(path, "old")
    write_file(path, b"new", lasting=lasting)
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_several_files_appear_when_all_are_complete(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("before")

    def write(fail: bool) -> None:
        with unfinished(one, two) as files:
            assert [file.name for file in files] == ["one" + UNFINISHED, "two" + UNFINISHED]
            for file in files:
                file.write_text("after")
            if fail:
                raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write(fail=True)
    assert one.read_text() == "before"
    assert list(tmp_path.iterdir()) == [one]
    write(fail=False)
    assert (one.read_text(), two.read_text()) == ("after", "after")
    assert sorted(tmp_path.iterdir()) == [one, two]

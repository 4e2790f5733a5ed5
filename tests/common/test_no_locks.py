"""A file system without locks: an error in one sentence, never a traceback."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsync import KGSync
from kgsync.backtest.records import RecordFolder
from kgsync.errors import StateWriteError
from kgsync.service.run_file import RunFile, RunStatus
from kgsync.state.directory import State
from tests.worlds import GRAPHS, disk_store, quick_settings

REASONS = [errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS]


@pytest.fixture(params=REASONS, ids=errno.errorcode.get)
def no_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(request.param, os.strerror(request.param))

    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.usefixtures("no_locks")
def test_a_state_says_that_it_cannot_be_locked(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    with pytest.raises(StateWriteError, match=r"cannot lock .*lock: .*local disk"), state.lock():
        raise AssertionError
    with pytest.raises(StateWriteError, match=r"run\.lock"), RunFile(state, "daily").held():
        raise AssertionError
    assert RunStatus.load(tmp_path / "state") is None
    sync = KGSync(
        disk_store(tmp_path / "kg", ["1"]),
        GRAPHS,
        state=tmp_path / "state",
        settings=replace(quick_settings()),
    )
    with pytest.raises(StateWriteError, match="cannot lock"):
        sync.step()


@pytest.mark.usefixtures("no_locks")
def test_a_backtest_says_so_too(tmp_path: Path) -> None:
    records = RecordFolder(tmp_path / "results")
    with pytest.raises(StateWriteError, match="cannot lock"), records.lock():
        raise AssertionError


def test_the_command_line_shows_no_traceback(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1"])
    (tmp_path / "kgsync.toml").write_text('[source]\nstore = "kg"\n', encoding="utf-8")
    (tmp_path / "sitecustomize.py").write_text(
        "import errno, fcntl\n"
        "def refuse(*_):\n"
        "    raise OSError(errno.ENOLCK, 'No locks available')\n"
        "fcntl.flock = refuse\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, "-m", "kgsync", "step"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done.stderr
    assert "kgsync: cannot lock" in done.stderr
    assert "Traceback" not in done.stderr

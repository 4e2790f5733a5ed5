"""`kgsync run` as a real process that gets real signals."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.training.backends import warm_up
from tests.processes import kgsync
from tests.worlds import GRAPHS, QUICK, disk_store, fill, quick_settings


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """What is waited for below is not the compiler."""
    warm_up(quick_settings())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a store of one version and a settings file."""
    disk_store(tmp_path / "kg", ["1"])
    (tmp_path / "kgsync.toml").write_text(
        QUICK.format(graphs=GRAPHS) + '[schedule]\nevery = "1s"\nretry_after = "0.5s"\n'
    )
    return tmp_path


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """The command as a process of its own; killed at the end if it still runs."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "kgsync", "run", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def terminate_by_another_thread(process: subprocess.Popen[str]) -> None:
    """Send a signal that another thread than the main one receives, as the system may choose."""
    threads = {int(task.name) for task in Path(f"/proc/{process.pid}/task").iterdir()}
    other = min(threads - {process.pid})  # the oldest one will stay
    assert ctypes.CDLL(None).tgkill(process.pid, other, signal.SIGTERM) == 0


def run_json(folder: Path, name: str = "kg") -> dict[str, Any]:
    try:
        status: dict[str, Any] = json.loads((folder / ".kgsync" / name / "run.json").read_text())
    except FileNotFoundError:
        return {"runs": 0, "commits": 0, "last_outcome": None}
    return status


def eventually(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    give_up = time.monotonic() + 40
    while not holds():
        assert process.poll() is None, "it ended before its time"
        assert time.monotonic() < give_up, "it never came to pass"
        time.sleep(0.05)


def add(folder: Path, *versions: str) -> None:
    """Add versions to the store, between two looks of the other process."""
    while True:
        try:
            store = ox.Store(str(folder / "kg"))
        except OSError:
            time.sleep(0.05)
        else:
            fill(store, versions).flush()
            return


def test_versions_are_taken_as_they_come_until_a_signal(project: Path) -> None:
    with started(project, "--json") as process:
        eventually(lambda: run_json(project)["commits"] == 1, process)
        add(project, "2", "10")
        eventually(lambda: run_json(project)["commits"] == 3, process)
        shown = kgsync(project, "status")
        assert f"running (pid {process.pid}) every 1s" in shown.stdout
        status = json.loads(kgsync(project, "status", "--json").stdout)
        assert status["version"] == 3
        assert status["run"]["running"] is True
        assert status["run"]["pid"] == process.pid
        second = kgsync(project, "run", "--every", "1m")
        assert second.returncode == 3
        assert "runs the schedule" in second.stderr
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=10)
        assert process.returncode == 0
    (document,) = json.loads(out)
    assert document["commits"] == 3
    assert document["stopped"]
    assert document["running"] is False
    log = (project / "log").read_text()
    assert "version 3 of http://example.org/kg/10: updated" in log
    assert "stopped" in log
    assert "Traceback" not in log
    assert "not running (stopped" in kgsync(project, "status").stdout


def test_a_signal_in_training_leaves_the_committed_version(project: Path) -> None:
    KGSync.from_config(project / "kgsync.toml").step()
    disk_store(project / "kg", ["2"])
    config = project / "kgsync.toml"
    text = config.read_text()
    config.write_text(
        text.replace("general_epochs = 4", "general_epochs = 1000000\npatience = 100000")
    )
    with started(project) as process:
        eventually(lambda: run_json(project)["runs"] == 1, process)
        time.sleep(3)  # reading is a matter of milliseconds, training of hours
        before = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0
        assert time.monotonic() - before < 10
    assert run_json(project)["last_outcome"] == "abandoned"
    config.write_text(text)
    status = json.loads(kgsync(project, "status", "--json").stdout)
    assert (status["version"], status["run"]["running"]) == (1, False)
    assert not list((project / ".kgsync" / "kg").glob("draft*"))
    done = kgsync(project, "step")
    assert "version 2: updated" in done.stdout


def test_a_signal_that_another_thread_receives_is_heard(project: Path) -> None:
    with started(project) as process:
        eventually(lambda: run_json(project)["commits"] == 1, process)
        terminate_by_another_thread(process)
        assert process.wait(15) == 0


def test_a_second_signal_ends_it_at_once_and_a_dead_process_is_noticed(project: Path) -> None:
    os.mkfifo(project / "scope.rq")  # whoever reads it waits for ever
    config = project / "kgsync.toml"
    config.write_text(config.read_text().replace("[source]", '[source]\nscope = "scope.rq"'))
    with started(project) as process:
        eventually(lambda: run_json(project)["runs"] == 1, process)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)  # an echo of the first, as some wrappers send it
        time.sleep(1)
        assert process.poll() is None
        terminate_by_another_thread(process)
        assert process.wait(5) == 128 + signal.SIGTERM
    config.write_text(config.read_text().replace('scope = "scope.rq"', ""))
    shown = kgsync(project, "status").stdout
    assert f"not running (pid {process.pid} is gone)" in shown


def test_an_incident_pauses_and_wrong_settings_end_it(project: Path) -> None:
    (project / "other.toml").write_text(
        QUICK.format(graphs="http://other/{version}").replace(
            "[model]", '[state]\npath = "other"\n[model]'
        )
    )
    arguments = ("-c", "kgsync.toml", "-c", "other.toml", "--every", "1s")
    with started(project, *arguments) as process:
        eventually(lambda: run_json(project)["commits"] == 1, process)
        eventually(lambda: run_json(project)["runs"] >= 2, process)
        shown = kgsync(project, "status", "-c", "other.toml").stdout
        assert "PAUSED since" in shown
        assert "matches 'http://other/{version}'" in shown
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    config = project / "kgsync.toml"
    config.write_text(config.read_text().replace("[model]", "[split]\ntest = 0.2\n[model]"))
    done = kgsync(project, "run", "--every", "1h")
    assert done.returncode == 5
    assert "kgsync rebuild" in done.stderr
    assert "Traceback" not in done.stderr


def test_wrong_times_are_refused(project: Path) -> None:
    done = kgsync(project, "run", "--every", "1h", "--cron", "0 3 * * *")
    assert done.returncode == 2, done.stderr
    assert "not both" in done.stderr


def test_a_step_that_waits_says_so_and_now_takes_it(project: Path) -> None:
    KGSync.from_config(project / "kgsync.toml").step()
    disk_store(project / "kg", ["2"])
    with (project / "kgsync.toml").open("a") as file:
        file.write("min_change = 100000\n")
    assert "waiting: " in kgsync(project, "plan").stdout
    done = kgsync(project, "step", "--all")
    assert done.returncode == 0
    assert "waiting: " in done.stdout
    assert "version 2: updated" in kgsync(project, "step", "--now").stdout

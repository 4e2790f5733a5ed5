"""The schedule: when it runs, what it tries again, how it ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.common.durations import seconds_of
from kgsync.common.events import Committed, Event, RunEnded, RunStarted
from kgsync.common.listener import Listener
from kgsync.config import ScheduleSettings, Settings
from kgsync.errors import ConfigError, SettingsChangedError, StateLockedError
from kgsync.service.run_file import RunStatus
from kgsync.service.schedule import Schedule
from kgsync.service.triggers import trigger_of
from kgsync.training.backends import warm_up
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, fill, quads, quick_settings, versions

FAST = ScheduleSettings(every="1s", retry_after="0.2s", retry_most="0.4s")


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    """What is measured or waited for below is not the compiler."""
    warm_up(quick_settings())


class Hearing:
    """A listener that calls someone when a phase begins or a training has come a bit further."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self._hear = hear

    def phase(self, name: str) -> None:
        self._hear(name)

    def progress(self, name: str, done: int, total: int) -> None:
        self._hear(f"{name} {done}")


def sync_of(
    store: ox.Store | Path,
    state: Path,
    schedule: ScheduleSettings = FAST,
    listener: Listener | None = None,
) -> KGSync:
    settings = replace(quick_settings(), schedule=schedule)
    settings = replace(settings, source=replace(settings.source, max_removed=1.0))
    return KGSync(store, GRAPHS, state=state, settings=settings, listener=listener)


@contextmanager
def running(*syncs: KGSync) -> Iterator[Schedule]:
    """A schedule that runs in a thread of its own, and is stopped at the end."""
    schedule = Schedule(syncs)
    thread = threading.Thread(target=schedule.run, daemon=True)
    thread.start()
    try:
        yield schedule
    finally:
        schedule.stop()
        thread.join(20)
        assert not thread.is_alive()


def eventually(holds: Callable[[], bool], seconds: float = 20) -> None:
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, "it never came to pass"
        time.sleep(0.02)


def status_of(sync: KGSync) -> RunStatus:
    status = sync.status().run
    assert status is not None
    return status


@pytest.mark.parametrize(
    "kind", thinned([RunStarted, RunEnded, Committed], lambda kind: kind is Committed)
)
def test_a_listener_that_fails_does_not_stop_the_schedule(
    tmp_path: Path, kind: type[Event]
) -> None:
    def failing(event: Event) -> None:
        if isinstance(event, kind):
            raise OSError("webhook down")

    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state")
    sync.listener = failing
    with running(sync):
        eventually(lambda: (status := sync.status().run) is not None and status.runs >= 3)
    assert status_of(sync).commits == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("15m", 900), ("2h", 7200), ("1d", 86400), ("0.5 s", 0.5), ("0s", 0)],
)
def test_a_duration_is_a_number_with_a_unit(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "15", "m", "-1s", "1w", "1h30m", "1e3s", "٣s", "99999d"])
def test_another_duration_is_refused_and_the_message_shows_the_form(text: str) -> None:
    with pytest.raises(ConfigError, match=r"30s, 15m, 2h or 1d|at most"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (ScheduleSettings(every="soon"), r"\[schedule\] every must be a number with a unit"),
        (ScheduleSettings(every="0s"), "at least 1s"),
        (ScheduleSettings(every="1m", cron="* * * * *"), "not both"),
        (ScheduleSettings(max_wait="1"), r"\[schedule\] max_wait"),
        (ScheduleSettings(min_change=-1), "min_change"),
        (ScheduleSettings(max_load=0.0), "max_load"),
        (ScheduleSettings(retries=-1), "retries"),
    ],
)
def test_impossible_schedules_are_refused(schedule: ScheduleSettings, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings(schedule=schedule)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("* * * *", "five fields"),
        ("61 * * * *", "maximum"),
        ("0 3 * * 8", "no such weekday"),
        ("0 3 * * 1-", "no such weekdays"),
        ("0 3 * * */0", "no such weekdays"),
        ("0 0 30 2 *", "never matches a time"),
        (None, "--every 15m"),
    ],
)
def test_a_wrong_cron_line_is_refused(line: str | None, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        trigger_of(ScheduleSettings(cron=line))


@pytest.mark.parametrize(
    ("line", "days"),
    [
        ("0 3 * * 0", ["08", "15"]),
        ("0 3 * * 7", ["08", "15"]),
        ("0 3 * * 1-5", ["03", "04", "05", "06", "09"]),
        ("0 3 * * fri-sun", ["06", "07", "08", "13"]),
        ("0 3 * * */3", ["04", "07", "08", "11"]),
        ("0 3 * * 2/3", ["03", "06", "10"]),
        ("0 3 12 * 1", ["09", "12", "16"]),  # one or the other
    ],
)
def test_weekdays_are_those_of_cron(line: str, days: list[str]) -> None:
    trigger = trigger_of(ScheduleSettings(cron=line))
    moment = datetime(2026, 11, 3, 1, tzinfo=UTC)  # a Tuesday
    found: list[str] = []
    for _ in days:
        previous = moment if found else None
        moment = trigger.get_next_fire_time(previous, moment)
        found.append(moment.astimezone(trigger_of(FAST).timezone).strftime("%d"))
    assert found == days


def test_a_run_takes_every_version_in_its_order_and_says_so(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2", "10"])
    sync = sync_of(store, tmp_path / "state")
    with running(sync):
        eventually(lambda: sync.status().version == 3)
        eventually(lambda: status_of(sync).next_run is not None)
        status = status_of(sync)
        assert status.running
        assert status.commits == 3
        assert "every 1s" in status.lines()[0]
        fill(store, ["11"])
        eventually(lambda: sync.status().version == 4)
    status = status_of(sync)
    assert not status.running
    assert status.stopped is not None
    assert status.last_error is None
    assert status.lines()[0].startswith("not running (stopped")
    assert [(report.graph_version or "")[-2:] for report in sync.history()] == [
        "/1",
        "/2",
        "10",
        "11",
    ]


def test_errors_that_may_pass_are_tried_again_and_counted(tmp_path: Path) -> None:
    path = disk_store(tmp_path / "kg", ["1"])
    sync = sync_of(path, tmp_path / "state")
    holder = ox.Store(str(path))
    with running(sync) as schedule:
        eventually(lambda: schedule.statuses[0].transient_errors_in_row >= 2)
        assert "only one can open it at a time" in (status_of(sync).last_error or "")
        assert "in a row" in "\n".join(status_of(sync).lines())
        del holder
        eventually(lambda: sync.status().version == 1)
        eventually(lambda: status_of(sync).transient_errors_in_row == 0)
        assert status_of(sync).transient_errors >= 2


def test_a_state_in_use_is_tried_again(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state")
    with sync.state.lock(), running(sync) as schedule:
        eventually(lambda: schedule.statuses[0].transient_errors >= 1)
    assert sync.step().changed


def test_when_the_tries_are_used_up_it_waits_for_its_time(tmp_path: Path) -> None:
    schedule = replace(FAST, every="1h", retries=2)
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", schedule)
    with sync.state.lock(), running(sync) as runs:
        eventually(lambda: runs.statuses[0].transient_errors == 3)
        eventually(lambda: runs.statuses[0].next_run is not None)
        assert runs.statuses[0].next_run is not None
        wait = datetime.fromisoformat(runs.statuses[0].next_run) - datetime.now(UTC)
        assert wait.total_seconds() > 3000
        time.sleep(0.6)
        assert runs.statuses[0].runs == 3


def test_an_incident_pauses_its_graph_and_the_others_go_on(tmp_path: Path) -> None:
    good, empty = fill(ox.Store(), ["1"]), ox.Store()
    # However long errors are waited out: a graph that pauses is looked at in its own time.
    patient = replace(FAST, retry_after="10s", retry_most="10m")
    broken = sync_of(empty, tmp_path / "broken", patient)
    sync = sync_of(good, tmp_path / "good")
    with running(broken, sync) as schedule:
        eventually(lambda: sync.status().version == 1)
        eventually(lambda: schedule.statuses[0].paused_since is not None)
        eventually(lambda: status_of(broken).paused_since is not None)
        assert "matches" in "\n".join(status_of(broken).lines())
        assert "PAUSED since" in "\n".join(status_of(broken).lines())
        fill(good, ["2"])
        eventually(lambda: sync.status().version == 2)
        assert status_of(broken).running
        eventually(lambda: status_of(broken).next_run is not None)
        fill(empty, ["1"])  # the reason is gone
        eventually(lambda: broken.status().version == 1)
        eventually(lambda: "PAUSED" not in "\n".join(status_of(broken).lines()))
    assert schedule.errors == []


def test_wrong_settings_end_a_graph_and_run_raises_them(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state")
    sync.step()
    sync.settings = replace(sync.settings, run=replace(sync.settings.run, seed=7))
    with pytest.raises(SettingsChangedError, match="seed"):
        sync.run(every="1h")
    assert not status_of(sync).running
    missing = sync_of(store, tmp_path / "other")
    source = replace(missing.settings.source, scope=str(tmp_path / "missing.rq"))
    missing.settings = replace(missing.settings, source=source)
    with pytest.raises(ConfigError, match=r"missing\.rq"):
        missing.run(every="1h")


def test_an_unexpected_error_is_logged_with_its_traceback_and_pauses(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failing = [True]

    def fail(event: str) -> None:
        if event == "train" and failing:
            raise ZeroDivisionError("a mistake of ours")

    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", listener=Hearing(fail))
    with running(sync) as schedule:
        eventually(lambda: schedule.statuses[0].paused_since is not None)
        eventually(lambda: status_of(sync).paused_since is not None)
        assert "Traceback" in caplog.text
        assert "a mistake of ours" in (status_of(sync).paused_reason or "")
        failing.clear()
        eventually(lambda: sync.status().version == 1)


def test_a_clock_that_was_set_back_does_not_put_runs_off(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path / "state")
    with running(sync) as schedule:
        eventually(lambda: sync.status().version == 1)
        eventually(lambda: schedule.statuses[0].next_run is not None)
        (graph,) = schedule._graphs
        year = 365 * 86400.0
        # As it is after the clock was a year ahead for a while.
        schedule._move(graph, datetime.now(UTC) + timedelta(seconds=year))
        schedule._clock._ahead += year
        fill(store, ["2"])
        eventually(lambda: sync.status().version == 2, 60)


@pytest.mark.parametrize(("busy", "later"), [(0.0, False), (2.0, True)])
def test_a_store_that_worked_long_is_left_alone_for_longer(
    tmp_path: Path, busy: float, later: bool
) -> None:
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state")

    def work(event: str) -> None:
        if event == "fetch":
            sync.watch.busy_seconds += busy

    sync.listener = Hearing(work)
    with running(sync) as schedule:
        eventually(lambda: schedule.statuses[0].next_run is not None)
        status = schedule.statuses[0]
        assert status.next_run is not None
        wait = datetime.fromisoformat(status.next_run) - datetime.now(UTC)
        assert (wait.total_seconds() > 10) == later  # 2 s of work are 20 s at a share of 0.1
        assert ("spaced out" in "\n".join(status.lines())) == later


def test_the_status_is_told_on_a_full_disk(small_disk: Path) -> None:
    path = disk_store(small_disk.parent / "kg", ["1", "2"])
    sync = sync_of(path, small_disk / "state")
    sync.step()
    with running(sync) as schedule:
        eventually(lambda: schedule.statuses[0].next_run is not None)
        fill_up = small_disk / "full"
        with suppress(OSError), fill_up.open("wb") as file:
            while True:
                file.write(bytes(4096))
        store = ox.Store(str(path))
        store.extend(quads("10", versions()["10"]))
        store.flush()
        del store
        eventually(lambda: status_of(sync).paused_since is not None)
        assert "cannot write" in (status_of(sync).paused_reason or "")
        fill_up.unlink()
        eventually(lambda: sync.status().version == 3)
        eventually(lambda: status_of(sync).paused_since is None)


def test_nothing_says_when(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--every 15m"):
        sync_of(ox.Store(), tmp_path / "state", ScheduleSettings()).run()
    with pytest.raises(ConfigError, match="must be a number with a unit"):
        sync_of(ox.Store(), tmp_path / "state", ScheduleSettings()).run(every="often")


def test_one_schedule_a_state(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path / "state")
    with running(sync):
        eventually(lambda: sync.status().version == 1)
        with pytest.raises(StateLockedError, match="runs the schedule"):
            sync_of(store, tmp_path / "state").run()
        assert status_of(sync).running  # its status was left alone


def test_missed_runs_become_one(tmp_path: Path) -> None:
    began: list[float] = []

    def dawdle(event: str) -> None:
        if event == "fetch":
            began.append(time.monotonic())
            time.sleep(2.7 if len(began) == 1 else 0)

    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", listener=Hearing(dawdle))
    with running(sync):
        eventually(lambda: len(began) >= 4)
    # Two were missed. One after the other, the fourth run would be that of the third second.
    assert began[3] - began[0] > 3.5


def test_graphs_take_turns(tmp_path: Path) -> None:
    active: list[int] = []
    most: list[int] = []

    def watch(event: str) -> None:
        if event == "fetch":
            active.append(1)
            most.append(len(active))
            time.sleep(0.3)
        elif event == "publish":
            active.pop()

    stores = [fill(ox.Store(), ["1"]) for _ in range(3)]
    settings = replace(FAST, every="1h")
    syncs = [
        sync_of(store, tmp_path / str(i), settings, Hearing(watch))
        for i, store in enumerate(stores)
    ]
    with running(*syncs):
        eventually(lambda: all(sync.status().version == 1 for sync in syncs))
    assert most == [1, 1, 1]


@pytest.mark.parametrize("phase", ["fetch", "update", "write"])
def test_a_stop_abandons_a_step_that_is_not_being_committed(tmp_path: Path, phase: str) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync_of(store, tmp_path / "state").step()
    reached, told = threading.Event(), threading.Event()

    def stop(event: str) -> None:
        if event == phase and not reached.is_set():
            reached.set()
            assert told.wait(20)
            time.sleep(0.2)  # until the schedule has heard of it

    sync = sync_of(store, tmp_path / "state", listener=Hearing(stop))
    thread = threading.Thread(target=sync.run, daemon=True)
    thread.start()
    assert reached.wait(20)
    sync.stop()
    told.set()
    thread.join(20)
    assert not thread.is_alive()
    assert sync.status().version == 1
    assert status_of(sync).last_outcome == "abandoned"
    assert not list((tmp_path / "state").glob("draft*"))
    assert sync_of(store, tmp_path / "state").step().version == 2


def test_a_stop_finishes_a_step_that_is_being_committed(tmp_path: Path) -> None:
    def stop(event: str) -> None:
        if event == "commit":
            sync.stop()
            time.sleep(0.2)

    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", listener=Hearing(stop))
    sync.run()
    assert sync.status().version == 1
    assert status_of(sync).commits == 1
    assert sync.plan().graph_version is None


def test_patience_ends_before_a_step_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def block(event: str) -> None:
        go_on.wait(20)

    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", listener=Hearing(block))
    schedule = Schedule([sync])
    threading.Timer(0.5, schedule.stop).start()
    assert not schedule.run(patience=0.2)
    monkeypatch.setattr("kgsync.service.schedule._LOOK_SECONDS", 60.0)
    began = time.monotonic()
    assert not schedule._idle(0)
    assert not schedule._idle(0.1)
    assert time.monotonic() - began < 15
    go_on.set()
    eventually(lambda: schedule.statuses[0].last_outcome == "abandoned")
    assert sync.status().version is None


def test_a_damaged_status_file_is_no_status(tmp_path: Path) -> None:
    for text in ("", "[]", '{"pid": 3}'):
        (tmp_path / "run.json").write_text(text)
        assert RunStatus.load(tmp_path) is None

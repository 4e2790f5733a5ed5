"""What every listener of a scheduled sync does; a new one needs nothing here."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import kgsync.service.run_listeners as package
from kgsync.common import events
from kgsync.common.events import Hearer
from kgsync.common.family import makers
from kgsync.common.listener import Events
from kgsync.errors import KgsyncError
from kgsync.service.run_file import RunFile
from kgsync.service.run_listeners import run_listeners
from kgsync.state.directory import State

LISTENERS = makers(package.__name__, package.__path__, "listener")
NOW, ERROR = datetime.now(UTC), KgsyncError("wrong")
EVENTS: list[events.Event] = [
    events.Event(),
    events.PhaseStarted("train"),
    events.Progress("train", 1, 2),
    events.Committed(1, "http://example.org/kg/1", "trained", 1.5, warnings=("late",)),
    events.Rejected(ERROR),
    events.Failed(ERROR),
    events.ScheduleEvent(),
    events.RunStarted(),
    events.RunEnded("done", NOW, 0.5),
    events.StoreWaited("it is busy"),
    events.StoreWaited(None),
    events.RetryPlanned(ERROR, 1, NOW),
    events.Paused("wrong", ERROR),
    events.Paused("wrong", since=NOW.isoformat()),
    events.Resumed(),
    events.ScheduleEnded(ERROR),
]


def test_there_is_an_event_of_every_type() -> None:
    types = (getattr(events, name) for name in events.__all__)
    assert {type(event) for event in EVENTS} == {
        found for found in types if isinstance(found, type) and issubclass(found, events.Event)
    }


@pytest.fixture(params=LISTENERS)
def listener(request: pytest.FixtureRequest, tmp_path: Path) -> Hearer:
    """One listener of a sync whose state is not there yet."""
    made: Hearer = LISTENERS[request.param]("kg", RunFile(State(tmp_path / "kg"), "never"))
    return made


def test_a_listener_writes_nothing_before_the_first_event(listener: Hearer, tmp_path: Path) -> None:
    assert callable(listener)
    assert not list(tmp_path.iterdir())


def test_a_schedule_uses_every_listener(tmp_path: Path) -> None:
    made = run_listeners("kg", RunFile(State(tmp_path / "kg"), "never"))
    assert list(made) == sorted(LISTENERS)


def test_a_listener_takes_every_event_also_after_a_failure(
    listener: Hearer, tmp_path: Path
) -> None:
    (tmp_path / "kg").mkdir()
    for event in [*EVENTS, *EVENTS]:
        listener(event)


def test_a_listener_that_cannot_write_ends_no_step_and_goes_on_later(
    listener: Hearer, tmp_path: Path
) -> None:
    (tmp_path / "kg").touch()  # a file, so that nothing can be written below it
    tell = Events(listener)  # passes on what is raised on a phase or on progress
    for event in EVENTS:
        tell(event)
    (tmp_path / "kg").unlink()
    (tmp_path / "kg").mkdir()
    for event in EVENTS:
        listener(event)


def test_a_listener_keeps_its_files_in_the_state_directory(tmp_path: Path) -> None:
    assert RunFile(State(tmp_path / "kg"), "never").folder == tmp_path / "kg"

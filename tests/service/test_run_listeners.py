"""Every listener of a scheduled sync takes every event."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from kgsync.common import events
from kgsync.common.listener import AnyListener
from kgsync.errors import KgsyncError
from kgsync.service.run_file import RunFile
from kgsync.service.run_listeners import run_listeners
from kgsync.state.directory import State

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


@pytest.mark.parametrize("place", range(len(run_listeners("kg", RunFile(State(Path()), "never")))))
def test_a_listener_takes_every_event(place: int, tmp_path: Path) -> None:
    listener: AnyListener = run_listeners("kg", RunFile(State(tmp_path), "never"))[place]
    assert callable(listener)
    for event in EVENTS:
        listener(event)

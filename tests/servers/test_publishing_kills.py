"""A kill counts only if it came in the middle of publishing."""

from __future__ import annotations

import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import pytest

from tests.processes import forks
from tests.servers.publishing_kills import in_the_middle, killed_in_the_middle


def publishing(pipe: Connection, messages: list[str], seconds: float) -> None:
    for message in messages:
        pipe.send(message)
    time.sleep(seconds)


def begun(messages: list[str], seconds: float) -> tuple[BaseProcess, Connection]:
    """A process that has told its first message."""
    context = forks()
    here, there = context.Pipe()
    child = context.Process(target=publishing, args=(there, messages, seconds))
    child.start()
    assert here.recv() == messages[0]
    return child, here


def test_a_kill_in_the_middle_counts() -> None:
    child, pipe = begun(["stage"], 60)
    assert in_the_middle(child, pipe)
    assert killed_in_the_middle(child, pipe)


@pytest.mark.parametrize("check", [in_the_middle, killed_in_the_middle])
@pytest.mark.parametrize(
    ("messages", "seconds"),
    [(["stage"], 0), (["stage", "done"], 60), (["stage", "error: gone"], 60)],
    ids=["it has ended", "it is done, and about to end", "it has failed"],
)
def test_a_kill_that_came_too_late_does_not_count(
    check: Callable[[BaseProcess, Connection], bool], messages: list[str], seconds: float
) -> None:
    child, pipe = begun(messages, seconds)
    if len(messages) > 1:
        assert pipe.poll(10)
    else:
        child.join(10)
    assert not check(child, pipe)
    child.kill()

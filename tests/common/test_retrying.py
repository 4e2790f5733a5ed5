"""The one retry policy."""

from __future__ import annotations

import time

import pytest

from kgsync.common.retrying import Retry
from kgsync.errors import PermanentStoreError, TransientStoreError


class Failing:
    """Fails so many times, then gives what it is called with."""

    def __init__(self, times: int, error: Exception) -> None:
        self.left, self.error, self.calls = times, error, 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.left:
            raise self.error
        return "done"


def test_a_transient_error_is_tried_again_after_longer_and_longer_pauses() -> None:
    paused: list[float] = []
    failing = Failing(4, TransientStoreError("busy"))
    retry = Retry(5, first=1.0, most=4.0)
    assert retry.call(failing, lambda seconds, _: paused.append(seconds)) == "done"
    assert paused == [1.0, 2.0, 4.0, 4.0]


def test_the_last_error_is_raised_when_the_tries_are_used_up() -> None:
    failing = Failing(3, TransientStoreError("busy"))
    with pytest.raises(TransientStoreError, match="busy"):
        Retry(3).call(failing)
    assert failing.calls == 3


def test_errors_are_told_apart_by_type() -> None:
    class HopelessError(TransientStoreError):
        pass

    for error in (PermanentStoreError("no"), HopelessError("no"), ValueError("no")):
        failing = Failing(1, error)
        with pytest.raises(type(error)):
            Retry(3, never=(HopelessError,)).call(failing)
        assert failing.calls == 1
    assert Retry(2, transient=(ValueError,)).call(Failing(1, ValueError("once"))) == "done"


def test_an_error_that_names_its_time_is_left_to_the_caller() -> None:
    error = TransientStoreError("come back in an hour")
    error.retry_after = 3600.0
    failing = Failing(1, error)
    with pytest.raises(TransientStoreError):
        Retry(3).call(failing)
    assert failing.calls == 1
    assert Retry(3, heeds_wait=False).call(Failing(1, error)) == "done"


def test_no_call_begins_when_the_patience_is_over() -> None:
    failing = Failing(10**9, TransientStoreError("busy"))
    start = time.monotonic()
    with pytest.raises(TransientStoreError):
        Retry(patience=0.05, first=0.01, most=0.01).call(failing)
    assert 0.05 < time.monotonic() - start < 5
    assert failing.calls > 1


def test_jitter_shortens_a_pause_by_at_most_half() -> None:
    retry = Retry(first=8.0, most=30.0, jitter=True)
    for failures, longest in ((1, 8.0), (2, 16.0), (3, 30.0), (2000, 30.0)):
        assert all(longest / 2 <= retry.delay(failures) <= longest for _ in range(50))

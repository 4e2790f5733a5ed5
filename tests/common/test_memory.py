"""What a report tells of memory is that of its own step."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from kgsync.common.memory import forget_peak, peak_mb, resident_mb


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_a_peak_that_was_forgotten_does_not_come_back() -> None:
    large = np.ones(40_000_000)
    with_it = peak_mb()
    del large
    forget_peak()
    assert peak_mb() < with_it - 200
    assert peak_mb() >= resident_mb() - 50
    large = np.ones(40_000_000)
    assert peak_mb() > with_it - 100
    assert large[-1] == 1

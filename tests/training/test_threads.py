"""How many threads torch uses."""

from __future__ import annotations

import os

import pytest
import torch

from kgsync.training.threads import use_threads


def test_the_number_of_threads_is_the_one_asked_for() -> None:
    use_threads(2)
    assert torch.get_num_threads() == 2


def test_zero_takes_every_cpu_the_process_may_run_on() -> None:
    use_threads(0)
    assert torch.get_num_threads() == len(os.sched_getaffinity(0))


def test_the_environment_is_left_alone_once_torch_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    use_threads(1)
    assert "OMP_WAIT_POLICY" not in os.environ

"""Work on threads, and how many of them torch uses."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Barrier, get_ident

import pytest
import torch

from kgsync.training.threads import on_threads, use_threads


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


FORKED = """
import multiprocessing, sys
import torch
from kgsync.training.threads import use_threads

def work():
    use_threads(2)
    rows = torch.arange(400_000) % 1000
    assert torch.rand(1000, 100)[rows].shape == (400_000, 100)

def child_work():
    assert torch.get_num_threads() == 1  # also if it only reads vectors
    work()

work()
child = multiprocessing.get_context("fork").Process(target=child_work)
child.start()
child.join(30)
child.kill()
child.join()
sys.exit(child.exitcode)
"""


def test_a_fork_does_not_wait_for_threads_that_it_does_not_have() -> None:
    assert subprocess.run([sys.executable, "-c", FORKED], check=False).returncode == 0


def test_each_thread_does_its_share_the_caller_s_first_and_results_keep_their_order() -> None:
    threads: dict[int, int] = {}
    both = Barrier(2, timeout=30)

    def work(number: int) -> int:
        threads[number] = get_ident()
        both.wait()  # which only two threads at once get past
        return 10 * number

    assert on_threads(work, 2) == [0, 10]
    assert threads[0] == get_ident() != threads[1]


def test_one_thread_is_the_caller_s_own() -> None:
    assert on_threads(lambda number: (number, get_ident()), 1) == [(0, get_ident())]

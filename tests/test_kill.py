"""A process killed anywhere: the last version reads, and the next step ends as if undisturbed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest

from kgsync import KGSync
from tests.processes import exit_code
from tests.thinning import thinned
from tests.worlds import GRAPHS, current_versions, disk_store, iri, quick_settings

PHASES = [
    "fetch",
    "initial vectors",
    "evaluate",
    "update",
    "write",
    "stage",
    "commit",
    "publish",
]


class Killer:
    """A listener that kills its own process when a phase begins."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    def phase(self, name: str) -> None:
        if name == self._phase:
            os.kill(os.getpid(), signal.SIGKILL)

    def progress(self, name: str, done: int, total: int) -> None:
        pass


def make_sync(folder: Path, killed_at: str | None = None) -> KGSync:
    listener = Killer(killed_at) if killed_at else None
    return KGSync(
        folder / "kg",
        GRAPHS,
        state=folder / "state",
        settings=quick_settings(),
        listener=listener,
    )


def step_killed_at(folder: Path, phase: str) -> None:
    make_sync(folder, phase).step(allow_large_removal=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    """The vector of an entity after two quiet steps."""
    folder = tmp_path_factory.mktemp("quiet")
    disk_store(folder / "kg", ["1", "2"])
    sync = make_sync(folder)
    sync.step()
    sync.step(allow_large_removal=True)
    vector: np.ndarray = sync.embedding(iri("e20"))
    return vector


def head_in_store(path: Path) -> list[str]:
    return current_versions(ox.Store(str(path)))


@pytest.mark.parametrize("phase", thinned(PHASES, lambda phase: phase in ("write", "publish")))
def test_a_kill_at_the_start_of_a_phase_loses_nothing(
    tmp_path: Path, undisturbed: np.ndarray, phase: str
) -> None:
    disk_store(tmp_path / "kg", ["1", "2"])
    sync = make_sync(tmp_path)
    sync.step()
    first = sync.embedding(iri("e20"))
    assert exit_code(step_killed_at, tmp_path, phase) == -signal.SIGKILL

    survivor = make_sync(tmp_path)
    committed = 2 if phase == "publish" else 1
    assert survivor.status().version == committed
    if committed == 1:
        assert np.array_equal(survivor.embedding(iri("e20")), first)
    report = survivor.step(allow_large_removal=True)
    assert report.changed == (committed == 1)  # a committed version is never trained twice
    assert survivor.status().version == 2
    assert np.array_equal(survivor.embedding(iri("e20")), undisturbed)
    assert head_in_store(tmp_path / "kg") == ["2"]
    assert sorted(p.name for p in (tmp_path / "state").glob("0*")) == ["000001", "000002"]
    assert not list((tmp_path / "state").glob("draft*"))

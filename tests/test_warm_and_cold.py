"""What a process keeps in memory from step to step changes nothing but the time that it takes."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from kgsync import KGSync, Settings
from kgsync.config import EvaluationSettings, SourceSettings
from kgsync.state.version_folder import VersionFolder
from tests.processes import exit_code
from tests.thinning import thinned
from tests.worlds import Edge, iri, quick_settings, ring

_VERSIONS = 5
_SIZE = 3000
"""Entities of a ring: so many that a version's change is small."""


def _changes() -> Iterator[tuple[set[Edge], set[Edge]]]:
    """Added and deleted edges of each version after the first; entities come, go and return."""
    yield {("new", "next", "e5"), ("e900", "skip", "new")}, {("e7", "next", "e8")}
    around = {edge for edge in ring(_SIZE) if "e40" in (edge[0], edge[2])}
    yield {("e1", "likes", "e2")}, around
    yield {("e40", "next", "e41"), ("e3", "skip", "e1000")}, {("e1", "likes", "e2")}
    yield {("other", "next", "new")}, {("new", "next", "e5")}


def _lines(edges: set[Edge]) -> str:
    return "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in sorted(edges))


def _settings() -> Settings:
    quick = quick_settings()
    return replace(
        quick,
        source=SourceSettings(quiet_period="0s"),
        state=replace(quick.state, keep=20),
        training=replace(quick.training, epochs=2),
        update=replace(quick.update, strategy="local"),
        evaluation=EvaluationSettings(validation_sample=20, test_sample=20, stability_sample=20),
    )


def _sync(folder: Path, state: str, killed_at: str | None = None) -> KGSync:
    listener = None if killed_at is None else _Killer(killed_at)
    return KGSync(folder / "kg", state=folder / state, settings=_settings(), listener=listener)


class _Killer:
    """Kills its own process when a phase begins."""

    def __init__(self, phase: str) -> None:
        self._phase = phase

    def phase(self, name: str) -> None:
        if name == self._phase:
            os.kill(os.getpid(), signal.SIGKILL)

    def progress(self, name: str, done: int, total: int) -> None:
        pass


def _step(folder: Path, state: str, killed_at: str | None = None) -> None:
    _sync(folder, state, killed_at).step()


def _contents(state: Path) -> dict[str, dict[str, str]]:
    """Checksums of all files by version, but of those that say when it was made."""
    return {
        folder.name: {
            file.relative_to(folder).as_posix(): sha256(file.read_bytes()).hexdigest()
            for file in folder.rglob("*")
            if file.is_file() and file.name not in ("manifest.json", "sidecar.json")
        }
        for folder in state.glob("0*")
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The versions as files, and the state `cold`, for which every step was a process's first."""
    folder = tmp_path_factory.mktemp("world")
    (folder / "kg" / "changes").mkdir(parents=True)
    (folder / "kg" / "base.nt").write_text(_lines(set(ring(_SIZE))))
    for number, (added, deleted) in enumerate(_changes(), 1):
        for kind, edges in (("added", added), ("removed", deleted)):
            (folder / "kg" / "changes" / f"{number:04}.{kind}.nt").write_text(_lines(edges))
    for version in range(1, _VERSIONS + 1):
        assert _sync(folder, "cold").step().version == version
    return folder


def test_a_warm_process_writes_what_cold_ones_write(folder: Path) -> None:
    assert len(_sync(folder, "warm").catch_up()) == _VERSIONS
    assert _contents(folder / "warm") == _contents(folder / "cold")


def test_a_warm_process_reads_nothing_that_it_has_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = _sync(folder, "closed")
    sync.step()

    def verified(self: VersionFolder, name: str) -> Path:
        raise AssertionError(f"{name} of {self.path} was read")

    monkeypatch.setattr(VersionFolder, "verified", verified)
    assert [report.version for report in sync.catch_up()] == [2, 3, 4, 5]


def test_another_process_may_commit_in_between(folder: Path) -> None:
    sync = _sync(folder, "shared")
    sync.step()
    sync.step()
    assert exit_code(_step, folder, "shared") == 0
    assert [report.version for report in sync.catch_up()] == [4, 5]
    assert _contents(folder / "shared") == _contents(folder / "cold")


def test_a_rollback_is_noticed_by_who_has_the_later_version_in_memory(folder: Path) -> None:
    contents = []
    for state, warm in (("back-warm", True), ("back-cold", False)):
        sync = _sync(folder, state)
        for _ in range(3):
            sync.step()
        (sync if warm else _sync(folder, state)).rollback(2)
        for number in (4, 5):
            assert (sync if warm else _sync(folder, state)).step().version == number
        contents.append(_contents(folder / state))
    assert contents[0] == contents[1]
    # The same graph version again, but for the number in the header.
    again, first = (
        load_file(folder / version / "embeddings" / "tensors.safetensors")
        for version in ("back-warm/000004", "cold/000003")
    )
    assert all(np.array_equal(again[name], first[name]) for name in first)


@pytest.mark.parametrize(
    "phase", thinned(["update", "write", "commit", "publish"], {"write", "publish"}.__contains__)
)
def test_who_was_killed_goes_on_as_who_was_not(folder: Path, phase: str) -> None:
    state = f"killed-at-{phase}"
    sync = _sync(folder, state)
    sync.step()
    sync.step()
    assert exit_code(_step, folder, state, phase) == -signal.SIGKILL
    sync.catch_up()  # has the second version in memory, whichever is current now
    assert _contents(folder / state) == _contents(folder / "cold")

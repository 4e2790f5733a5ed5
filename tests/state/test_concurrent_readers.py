"""Reading while another process commits, goes back, and removes files."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest

import kgsync
from kgsync import KGSync
from kgsync.common import durable as files
from kgsync.config import PublishSettings, StateSettings
from kgsync.state import opening
from kgsync.state.directory import State
from tests.worlds import GRAPHS, disk_store, fill, iri, quick_settings


def sync_of(store: object, state: Path, keep: int = 3) -> KGSync:
    settings = replace(
        quick_settings(), publish=PublishSettings(metadata=False), state=StateSettings(keep=keep)
    )
    settings = replace(settings, source=replace(settings.source, max_removed=1.0))
    return KGSync(store, GRAPHS, state=state, settings=settings)


def test_the_entry_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.catch_up()
    vectors = {number: sync.at(number).embedding(iri("e20")) for number in (2, 3, 4)}
    real = files.read_json

    def read_and_go_back(path: Path, remedy: str) -> Any:
        content = real(path, remedy)
        sync.rollback(2)
        return content

    monkeypatch.setattr(opening, "read_json", read_and_go_back)
    found = kgsync.load(tmp_path / "state")
    assert np.array_equal(found.vector(iri("e20")), vectors[found.version])


def test_files_that_go_while_they_are_opened_lead_to_the_next_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state", keep=1)
    sync.step()
    real = opening.Description.verify

    def step_and_verify(self: opening.Description, folder: Path) -> None:
        if self.version < 3:
            sync.step()
        real(self, folder)

    monkeypatch.setattr(opening.Description, "verify", step_and_verify)
    assert kgsync.load(tmp_path / "state").version == 3


def test_a_reader_follows_a_version_that_moves_while_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fill(ox.Store())
    writer = sync_of(store, tmp_path / "state", keep=1)
    writer.step()
    reader = sync_of(store, tmp_path / "state", keep=1)
    real = State.current

    def current_then_step(self: State) -> Any:
        found = real(self)
        if self is reader.state and found is not None and found.manifest.version < 3:
            writer.step()
        return found

    monkeypatch.setattr(State, "current", current_then_step)
    vector = reader.embedding(iri("e20"))
    assert reader.at().version == 3
    assert np.array_equal(vector, writer.embedding(iri("e20")))


_WRITER = """
import sys
from pathlib import Path
from tests.state.test_concurrent_readers import sync_of
sync = sync_of(Path(sys.argv[1]) / "kg", Path(sys.argv[1]) / "state")
print("ready", flush=True)
while True:
    for number in (2, 3, 4):
        sync.rollback(number)
"""


def test_readers_beside_a_process_that_goes_back_and_forth(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg")
    sync = sync_of(tmp_path / "kg", tmp_path / "state")
    sync.catch_up()
    vectors = {number: sync.at(number).embedding(iri("e20")) for number in (2, 3, 4)}
    command = [sys.executable, "-c", _WRITER, str(tmp_path)]
    seen = set()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            until = time.monotonic() + 3
            while time.monotonic() < until:
                found = kgsync.load(tmp_path / "state")
                assert np.array_equal(found.vector(iri("e20")), vectors[found.version])
                vector = sync.embedding(iri("e20"))
                assert any(np.array_equal(vector, known) for known in vectors.values())
                seen.add(found.version)
            assert child.poll() is None
        finally:
            child.kill()
    assert len(seen) > 1

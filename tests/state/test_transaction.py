"""A transaction: one version is put together aside, checked, and made current at once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.common import durable
from kgsync.common.durable import RecordedFiles
from kgsync.common.listener import Events, Phases
from kgsync.config import PublishSettings
from kgsync.errors import RejectedError, StateError
from kgsync.state.transaction import Transaction, transaction
from tests.worlds import GRAPHS, disk_store, fill, quick_settings


def sync_of(store: ox.Store | Path, state: Path, **publish: Any) -> KGSync:
    settings = replace(quick_settings(), publish=PublishSettings(**publish))
    settings = replace(settings, source=replace(settings.source, max_removed=1.0))
    return KGSync(store, GRAPHS, state=state, settings=settings)


class RefusedError(RejectedError):
    """What the guard of these tests raises."""


@dataclass(frozen=True)
class Guard:
    """Refuses a version when there is a report."""

    settings: Any

    def check(self, draft: Transaction) -> None:
        if draft.has_report:
            raise RefusedError(f"{draft.report.entities} entities")


def test_a_version_that_a_guard_refuses_leaves_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    before = sorted(path.name for path in (tmp_path / "state").iterdir())
    with monkeypatch.context() as patch:
        patch.setattr("kgsync.service.guards.removal.guard", Guard)
        with pytest.raises(RefusedError, match="entities"):
            sync.step()
    assert sync.status().version == 1
    after = {path.name for path in (tmp_path / "state").iterdir()}
    assert after <= {*before, "costs.json", "whole.json", "pause.json"}
    sync.accept()
    assert sync.step().version == 2


def test_a_transaction_that_ends_before_the_commit_changes_nothing(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    with transaction(sync.state, sync.settings, Phases(Events())) as draft:
        assert draft.base is not None
        assert (draft.base.number, draft.number) == (1, 2)
        for use in (lambda: draft.folder, lambda: draft.report, lambda: draft.taken):
            with pytest.raises(StateError, match="in this transaction"):
                use()
    assert sync.status().version == 1
    assert sync.step().version == 2


@pytest.mark.parametrize("literals", ["none", "rolling"])
def test_no_file_of_a_new_version_is_read_back(
    tmp_path: Path, literals: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = fill(ox.Store())
    sync_of(store, tmp_path / "state", literals=literals).step()
    # Another object, as in another process: it has to read and verify the first version.
    sync = sync_of(store, tmp_path / "state", literals=literals)
    read: list[Path] = []
    real = durable.sha256_of

    def noting(path: Path) -> str:
        read.append(path)
        return real(path)

    for module in ("common.durable", "state.version_folder"):
        monkeypatch.setattr(f"kgsync.{module}.sha256_of", noting)
    sync.step()
    assert read
    assert not [path for path in read if "000002" in path.parts]
    folder = sync.state.version(2)
    assert {*folder.manifest.files} == {
        path.relative_to(folder.path).as_posix() for path in folder.path.glob("*/*")
    }
    for name in folder.manifest.files:
        folder.verified(name)


def test_a_step_opens_its_store_to_read_and_once_more_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = sync_of(disk_store(tmp_path / "kg"), tmp_path / "state", literals="versions")
    opened: list[object] = []
    real = OxigraphStore.open

    def counting(target: Any, **options: Any) -> OxigraphStore:
        opened.append(target)
        return real(target, **options)

    monkeypatch.setattr(OxigraphStore, "open", counting)
    assert sync.step().changed
    assert len(opened) == 2


def test_files_are_hashed_while_they_are_written(tmp_path: Path) -> None:
    files = RecordedFiles(tmp_path / "new")
    with files.writing("some") as file:
        for size in (0, 1, 1 << 20, 3):
            file.write(b"x" * size)
    content = (tmp_path / "new" / "some").read_bytes()
    about = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    assert files.recorded == {"some": about}


def test_a_file_that_failed_is_not_recorded(tmp_path: Path) -> None:
    files = RecordedFiles(tmp_path)

    def fail() -> None:
        with files.writing("some") as file:
            file.write(b"x")
            raise OSError("refused")

    with pytest.raises(OSError, match="refused"):
        fail()
    assert not files.recorded

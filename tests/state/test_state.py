"""The state directory under bad circumstances."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kgsync import KGSync
from kgsync.common.durable import sealed, unsealed
from kgsync.errors import (
    PermanentStoreError,
    StateCorruptedError,
    StateError,
    StateLockedError,
    StateWriteError,
    TransientStoreError,
)
from kgsync.state.directory import State
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, iri, quick_settings


@pytest.fixture
def synced(tmp_path: Path) -> KGSync:
    """One committed version of an on-disk store that has a second one."""
    disk_store(tmp_path / "kg", ["1", "2"])
    sync = KGSync(tmp_path / "kg", GRAPHS, state=tmp_path / "state", settings=quick_settings())
    sync.step()
    return sync


def holder(code: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that prints "ready", then waits for its input to close."""
    program = f"import sys\n{code}\nprint('ready', flush=True)\nsys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def test_a_second_process_gets_a_clear_error_and_a_dead_one_holds_nothing(synced: KGSync) -> None:
    code = (
        "from pathlib import Path; from kgsync.state.directory import State\n"
        "lock = State(Path(sys.argv[1])).lock(); lock.__enter__()"
    )
    with holder(code, str(synced.state.path)) as child:
        with pytest.raises(StateLockedError, match=rf"pid {child.pid}"):
            synced.step()
        child.kill()
    assert synced.step(allow_large_removal=True).version == 2


def test_a_store_open_in_another_process_is_transient_and_nothing_is_lost(
    synced: KGSync, tmp_path: Path
) -> None:
    code = "import pyoxigraph; store = pyoxigraph.Store(sys.argv[1])"
    with holder(code, str(tmp_path / "kg")) as child:
        with pytest.raises(TransientStoreError, match="open in another process"):
            synced.step()
        child.kill()
    assert synced.status().version == 1
    assert synced.step(allow_large_removal=True).version == 2


def test_a_missing_store_is_named_and_not_created(tmp_path: Path) -> None:
    sync = KGSync(tmp_path / "typo", GRAPHS, state=tmp_path / "state", settings=quick_settings())
    with pytest.raises(PermanentStoreError, match=r"no Oxigraph store at .*typo"):
        sync.step()
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize(
    "name",
    [
        "CURRENT",
        "state.json",
        "000001/manifest.json",
        "000001/graph/edges.safetensors",
        "000001/graph/terms.parquet",
        "000001/embeddings/tensors.safetensors",
    ],
)
@pytest.mark.parametrize(
    "damage", thinned(["cut", "flip", "missing"], {"flip", "missing"}.__contains__)
)
def test_a_damaged_file_is_named(synced: KGSync, name: str, damage: str) -> None:
    path = synced.state.path / name
    content = bytearray(path.read_bytes())
    if damage == "missing":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
    before = {p: p.stat().st_mtime_ns for p in synced.state.path.rglob("0*/**/*") if p.is_file()}
    fresh = KGSync(
        synced.state.path.parent / "kg",
        GRAPHS,
        state=synced.state.path,
        settings=quick_settings(),
    )
    with pytest.raises(StateCorruptedError, match=name.rpartition("/")[2]):
        fresh.step()
    after = {p: p.stat().st_mtime_ns for p in synced.state.path.rglob("0*/**/*") if p.is_file()}
    assert after == before


def test_a_state_of_another_format_is_refused(synced: KGSync) -> None:
    path = synced.state.path / "state.json"
    path.write_text(json.dumps(sealed({**unsealed(json.loads(path.read_text())), "format": 99})))
    fresh = KGSync(synced.state.path.parent / "kg", GRAPHS, state=synced.state.path)
    with pytest.raises(StateError, match="format 99"):
        fresh.step()


def test_a_disk_that_fills_up_leaves_the_committed_version(
    small_disk: Path, tmp_path: Path
) -> None:
    disk_store(tmp_path / "kg", ["1", "2"])
    state = small_disk / "state"
    sync = KGSync(tmp_path / "kg", GRAPHS, state=state, settings=quick_settings())
    sync.step()
    first = sync.embedding(iri("e20"))
    free = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(max(0, free - 8192)))
    with pytest.raises(StateWriteError, match="free some space"):
        sync.step(allow_large_removal=True)
    assert sync.status().version == 1
    assert np.array_equal(sync.embedding(iri("e20")), first)
    assert not list(state.glob("draft*"))
    ballast.unlink()
    assert sync.step(allow_large_removal=True).version == 2


def test_a_state_in_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(StateWriteError, match="file"),
        State(tmp_path / "file" / "state").lock(),
    ):
        pass


def test_version_numbers_never_repeat(synced: KGSync) -> None:
    synced.step(allow_large_removal=True)
    synced.state.commit(1)
    assert synced.status().version == 1
    assert synced.state.next_number() == 3
    assert synced.step(allow_large_removal=True).version == 3


def test_a_number_that_only_a_set_aside_version_has_is_not_used_again(synced: KGSync) -> None:
    folder = synced.state.path
    (folder / "000002").mkdir()
    assert synced.state.next_number() == 3
    (folder / "000002").rename(folder / "damaged-000002")
    assert synced.state.next_number() == 3

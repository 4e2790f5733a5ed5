"""Files that are still being written are not taken."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kgsync import KGSync
from kgsync.errors import TransientStoreError
from tests.worlds import quick_settings

EDGES = [
    f"<http://x/e{n % 40}> <http://x/p{n % 3}> <http://x/e{n * 7 % 41}> .\n" for n in range(400)
]


def sync_of(folder: Path, settle: str) -> KGSync:
    settings = quick_settings()
    source = replace(settings.source, quiet_period=settle, graphs=None)
    return KGSync(
        folder / "dumps", state=folder / "state", settings=replace(settings, source=source)
    )


def test_a_dump_that_grows_is_refused_and_taken_later(tmp_path: Path) -> None:
    dump = tmp_path / "dumps" / "kg-1.nt"
    dump.parent.mkdir()
    dump.write_text("".join(EDGES[:100]))
    sync = sync_of(tmp_path, "1s")

    def write() -> None:
        for start in range(100, 400, 50):
            time.sleep(0.25)
            with dump.open("a") as file:
                file.write("".join(EDGES[start : start + 50]))

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(TransientStoreError, match="still being written"):
        sync.step()
    writer.join()
    assert not sync.status().versions
    report = sync.step()
    assert report.triples is not None
    assert sum(report.triples.values()) == len(set(EDGES))

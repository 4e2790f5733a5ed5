"""The histories that are synced on one thread, and what is kept of the result.

`python -m tests.saved.histories` writes `checksums.json` and the newest archive anew; later code
has to reproduce them bit by bit. They were last made when random numbers began to depend on the
edges of a version. Archives of earlier releases stay: they are still read, continued, rolled back.
"""

from __future__ import annotations

import json
import os
import tarfile
import tempfile
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numba
import pyarrow as pa
import torch
from llvmlite.binding import get_host_cpu_name  # type: ignore[import-untyped]

from kgsync import KGSync, Settings, open_store
from kgsync.cli.commands.demo import GRAPHS, build_store
from kgsync.config import ModelSettings, RunSettings
from kgsync.models import MODELS
from kgsync.snapshots.changes import ChangeFiles
from kgsync.snapshots.loading import Destination, load_versions
from tests.worlds import quick_settings

FOLDER = Path(__file__).parent
NEWEST = "state.tar.gz"
ARCHIVES = [NEWEST, "state-named-seeds.tar.gz"]
"""States of this release, and of one whose random numbers depended on the names of versions."""
VERSIONS = 5
DEMO_PEOPLE = 400
_NOMISMA_GRAPHS = "http://nomisma.org/version/{version}"
_DIMENSION = 12


def machine() -> dict[str, str]:
    """What the last bit of a vector may depend on besides kgsync."""
    return {
        "cpu": get_host_cpu_name(),
        "numba": numba.__version__,
        "pyarrow": pa.__version__,
        "torch": torch.__version__.partition("+")[0],
    }


def settings(model: str, backend: str) -> Settings:
    """Little training, but every phase of it."""
    quick = quick_settings()
    return replace(
        quick,
        model=ModelSettings(model, dimension=_DIMENSION),
        run=RunSettings(seed=3, threads=1, backend=backend),  # type: ignore[arg-type]
    )


def demo_store(folder: Path, versions: int = VERSIONS) -> Path:
    """The invented world of `kgsync demo`, smaller."""
    path = folder / "graph.oxigraph"
    build_store(path, versions, DEMO_PEOPLE)
    return path


def nomisma_store(folder: Path, data: Path) -> Path:
    """The first versions of a real history."""
    path = folder / "graph.oxigraph"
    store = open_store(path, create=True)
    versions = islice(ChangeFiles.find(data / "nomisma").versions(), VERSIONS)
    list(load_versions(store, versions, Destination(_NOMISMA_GRAPHS)))
    store.close()
    return path


def synced(store: Path, state: Path, graphs: str, model: str, backend: str) -> list[dict[str, str]]:
    """The checksum of every file of every version."""
    sync = KGSync(store, graphs, state=state, settings=settings(model, backend))
    found = []
    for version in range(1, VERSIONS + 1):
        assert sync.step().version == version
        found.append(checksums(state / f"{version:06d}"))
    return found


def checksums(folder: Path) -> dict[str, str]:
    """Of all files but those that hold times."""
    return {
        path.relative_to(folder).as_posix(): sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("manifest.json", "sidecar.json")
    }


def cases() -> list[tuple[str, str, str]]:
    """History, model and backend."""
    demo = [("demo", model, "cpu") for model in sorted(MODELS)]
    demo += [("demo", model, "torch") for model in ("transe", "distmult")]
    return [*demo, ("nomisma", "transe", "cpu"), ("nomisma", "distmult", "cpu")]


def run_case(history: str, model: str, backend: str, data: Path | None) -> list[dict[str, str]]:
    """Sync one history from an empty state."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if history == "demo":
            return synced(demo_store(folder), folder / "state", GRAPHS, model, backend)
        assert data is not None
        store = nomisma_store(folder, data)
        return synced(store, folder / "state", _NOMISMA_GRAPHS, model, backend)


def main() -> None:
    """Make the files."""
    data = Path(os.environ.get("KGSYNC_TEST_DATA", FOLDER.parents[2] / "shared" / "data"))
    results: dict[str, Any] = {"machine": machine()}
    for case in cases():
        results[" ".join(case)] = run_case(*case, data)
        print(*case, flush=True)
    text = json.dumps(results, indent=1, sort_keys=True)
    (FOLDER / "checksums.json").write_text(text + "\n", encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = demo_store(folder)
        sync = KGSync(store, GRAPHS, state=folder / "state", settings=settings("transe", "cpu"))
        for _ in range(VERSIONS - 2):
            sync.step()
        with tarfile.open(FOLDER / NEWEST, "w:gz") as archive:
            archive.add(folder / "state", "state")


if __name__ == "__main__":
    main()

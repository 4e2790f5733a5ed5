"""Small states with sidecar files, and sidecars of random numbers, that tests share."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyoxigraph as ox

from kgsync import KGSync
from kgsync.common.durable import RecordedFiles
from kgsync.config import PublishSettings, StateSettings
from kgsync.graph.active import Active
from kgsync.graph.terms import TermIndex, TermTable
from kgsync.state.delta import Rows, delta_table
from kgsync.state.sidecar import Sidecar, write_sidecar
from tests.worlds import GRAPHS, fill, quick_settings


def make_sync(folder: Path, store: ox.Store | None = None) -> KGSync:
    """A sync of the test world that keeps every version and writes files only."""
    settings = quick_settings()
    settings = replace(
        settings,
        source=replace(settings.source, max_removed=1.0),
        publish=PublishSettings(metadata=False),
        state=StateSettings(keep=10),
    )
    target = fill(ox.Store()) if store is None else store
    return KGSync(target, GRAPHS, state=folder / "state", settings=settings)


def embeddings(sync: KGSync, version: int) -> Path:
    """The folder of a version's sidecar files."""
    return sync.state.path / f"{version:06d}" / "embeddings"


def vectors(folder: Path) -> dict[tuple[str, str], list[float]]:
    """What vectors.parquet of a folder holds, by kind and IRI."""
    rows = pq.read_table(folder / "vectors.parquet").to_pylist()
    return {(row["kind"], row["iri"]): row["vector"] for row in rows}


def current_json(sync: KGSync) -> dict[str, Any]:
    """What consumers find."""
    content: dict[str, Any] = json.loads((sync.state.path / "current.json").read_text())
    return content


def random_sidecar(folder: Path, entities: int = 500, dimension: int = 16) -> Path:
    """Sidecar files of random vectors, some of whose IRIs are not ASCII."""
    random = np.random.default_rng(3)
    # An order of rows that is not the order of the IRIs.
    numbers = random.permutation(entities)
    iris = pa.array([f"http://example.org/{'é' if n % 5 == 0 else 'e'}{n}" for n in numbers])
    relations = pa.array([f"http://example.org/r{i}" for i in range(4)])
    tables = {
        kind: (random.standard_normal((rows, dimension)) * 10.0 ** random.integers(-9, 9)).astype(
            np.float32
        )
        for kind, rows in (("entity", entities), ("relation", 4))
    }
    terms = TermIndex(b"", TermTable(iris), TermTable(relations))
    active = Active(*(np.arange(n, dtype=np.int32) for n in (entities, 4)))
    about = {
        "version": 7,
        "previous": None,
        "graph_version": "http://example.org/kg/7",
        "created": "2024-01-01T00:00:00+00:00",
        "model": {"name": "transe", "dimension": dimension},
    }
    write_sidecar(
        RecordedFiles(folder),
        Sidecar(
            tables,
            {"entity": iris, "relation": relations},
            {"entity": np.ones(entities, bool), "relation": np.ones(4, bool)},
            delta_table(terms, None, Rows(active, tables)),
            about,
        ),
    )
    return folder

"""FB15K as numbers; read once, then kept in the benchmark's folder for the other processes."""

from __future__ import annotations

import gzip
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["BATCH", "Fb15k", "data_folder", "load", "prepare"]

BATCH = 4832
"""Triples a batch: 100 batches an epoch."""

Rows = NDArray[np.int64]
_PARTS = ("train", "valid", "test")


@dataclass(frozen=True)
class Fb15k:
    """Parts of shape (3, n): head, relation, tail."""

    train: Rows
    valid: Rows
    test: Rows

    @property
    def everything(self) -> Rows:
        """All true triples."""
        return np.concatenate([self.train, self.valid, self.test], axis=1)

    @property
    def entities(self) -> int:
        """Number of entities."""
        return int(self.everything[[0, 2]].max()) + 1

    @property
    def relations(self) -> int:
        """Number of relations."""
        return int(self.everything[1].max()) + 1

    @property
    def batches(self) -> int:
        """Batches an epoch."""
        return max(1, round(int(self.train.shape[1]) / BATCH))


def prepare(work: Path, triples: int = 0) -> None:
    """Read the data set into a folder.

    Args:
        work: The folder.
        triples: Train on the first so many triples only, for a quick look; 0 takes all.
    """
    folder = data_folder() / "fb15k"
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    parts = {}
    for name in _PARTS:
        with gzip.open(folder / f"{name}.txt.gz", "rt", encoding="utf-8") as file:
            named = [line.split() for line in file]
        numbers = [
            (
                entities.setdefault(h, len(entities)),
                relations.setdefault(r, len(relations)),
                entities.setdefault(t, len(entities)),
            )
            for h, r, t in named
        ]
        parts[name] = np.array(numbers, np.int64).T
    # The order of the file means nothing, and a sample is a beginning.
    random = np.random.default_rng(0)
    parts = {name: rows[:, random.permutation(rows.shape[1])] for name, rows in parts.items()}
    if triples:
        parts["train"] = parts["train"][:, :triples]
    np.savez(work / "fb15k.npz", allow_pickle=False, **parts)


def data_folder() -> Path:
    """Where the raw data sets are."""
    root = Path(__file__).parents[4] / "shared" / "data"
    return Path(os.environ.get("KGSYNC_TEST_DATA", root))


def load(work: str, name: str = "fb15k") -> Fb15k:
    """What was prepared, or another file of the same kind."""
    with np.load(Path(work) / f"{name}.npz") as saved:
        return Fb15k(*(saved[name] for name in _PARTS))

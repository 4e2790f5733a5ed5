"""Compiling the kernels before they are needed, in a process of its own.

A process that has just compiled a kernel may call other copies of its inner functions than one that
loads it from the cache, and their sums may differ in the last bit. So the process that compiles
does not train: the same input and seed give the same vectors, the first time too.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numba
import numpy as np
import torch

from kgsync.config import ModelSettings
from kgsync.evaluation import ranking
from kgsync.evaluation.cost import Cost
from kgsync.graph.hashing import Hashes
from kgsync.models import distances, model_class
from kgsync.models.base import Kind, Model
from kgsync.training.cpu import steps
from kgsync.training.cpu.pretraining import CpuPretrainer
from kgsync.training.cpu.trainer import CpuTrainer
from kgsync.training.evidence import Evidence, KeyedNegatives
from kgsync.training.order import NewElement
from kgsync.training.pretraining import PretrainingRates
from kgsync.training.samplers import CorrectedSampler

__all__ = ["load_kernels"]

_MEGABYTES = 1
_TRIPLES = np.array([[0, 1], [0, 0], [1, 2]])


def load_kernels(settings: ModelSettings) -> None:
    """Load the kernels of a model; if they were never compiled, another process does it first."""
    stamp = _stamp()
    if not stamp.exists():
        _forget()
        # Two at once take little more than half the time.
        running = [
            subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", f"import {__name__} as c; c._compile(c.{part.__name__})"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for part in (_train, _start_and_rank)
        ]
        codes = [process.wait() for process in running]
        if not any(codes) and stamp.parent.is_dir():
            stamp.touch()
        # Else there is no cache that can be written, and they are compiled here, every time.
    for part in (_train, _start_and_rank):
        part(settings)


def _forget() -> None:
    """Remove what was compiled before: numba would not notice that an inner function changed."""
    for module in (steps, distances, ranking):
        kernels = (value for value in vars(module).values() if hasattr(value, "stats"))
        for folder in {Path(kernel.stats.cache_path) for kernel in kernels}:
            for file in folder.glob("*.nb[ic]"):
                file.unlink(missing_ok=True)


def _compile(part: Callable[[ModelSettings], None]) -> None:
    for name in ("transe", "transh", "distmult"):
        part(ModelSettings(name))


def _train(settings: ModelSettings) -> None:
    """Call the kernels of the epochs with next to nothing."""
    model, triples, random = _little(settings), _TRIPLES, np.random.default_rng(0)
    trainer = CpuTrainer(model, triples, 1, random, Cost())
    trainer.general_epoch(0.0)
    trainer.change_epoch(triples, triples, CorrectedSampler(triples, 1, random), 0.0)


def _start_and_rank(settings: ModelSettings) -> None:
    """Call the other kernels with next to nothing."""
    model, triples = _little(settings), _TRIPLES
    hashes: dict[Kind, Hashes] = {
        "entity": np.zeros(3, np.uint64),
        "relation": np.zeros(1, np.uint64),
    }
    negatives = KeyedNegatives(triples, np.arange(3), hashes, 0)
    evidence = Evidence.of("entity", [NewElement("entity", 1, np.arange(1), 1)], triples)
    CpuPretrainer(model, negatives, PretrainingRates(1, 1, 0.0), Cost()).train(evidence)
    rows, relation = model.rows("entity", slice(0, 1)), model.rows("relation", slice(0, 1))
    model.score_tails(rows, relation, model.rows("entity", slice(None)))
    ranking.ranks(model, triples, ranking.KnownTriples(triples, 1), "tail", _MEGABYTES)


def _little(settings: ModelSettings) -> Model:
    return model_class(settings.name).random(settings, 3, 1, torch.Generator())


def _stamp() -> Path:
    """A file beside the compiled kernels: they are there, from these very texts."""
    files = [*Path(__file__).parent.glob("*.py"), Path(distances.__file__), Path(ranking.__file__)]
    texts = b"".join(file.read_bytes() for file in sorted(files))
    made_by = f"{numba.__version__} {platform.node()} {platform.machine()}"
    digest = sha256(texts + made_by.encode()).hexdigest()[:16]
    return Path(steps.run_batches.stats.cache_path or "") / f"kgsync-{digest}.compiled"

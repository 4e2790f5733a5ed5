"""One method over one chain: a record for every version, and a model to go on from."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
import torch

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import ModelSettings, RunSettings, Settings, TrainingSettings, UpdateSettings
from kgsync.evaluation.stability import model_change
from kgsync.graph.active import Active
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.training.backends import warm_up
from kgsync.training.initial.vectors import carry_over, initialize
from kgsync.training.kept import Kept
from kgsync.training.offline import train_offline
from kgsync.training.problem import Problem
from kgsync.training.rates import ANNEALING
from kgsync.training.settings import strategies
from kgsync.training.updates import UpdateTask, strategy
from tests.benchmarks.updates.chains import Chain
from tests.benchmarks.updates.measures import measured
from tests.benchmarks.updates.records import Records

__all__ = ["FIRST", "Contest", "method_names"]

FIRST = "first"
"""The version that all methods begin with."""


def method_names() -> list[str]:
    """Training from scratch, the frozen baseline, and every update strategy."""
    return ["scratch", "frozen", *strategies()]


@dataclass(frozen=True)
class Contest:
    """A model and a seed on a chain."""

    chain: Chain
    model: str
    seed: int
    folder: Path
    size: int
    """Triples ranked per group."""

    def settings(self, method: str) -> Settings:
        """What a method runs with; from the first version, updates need what it keeps."""
        update = UpdateSettings(strategy=method if method in strategies() else "local")
        return Settings(
            model=ModelSettings(self.model),
            training=TrainingSettings(annealing=ANNEALING),
            update=update,
            run=RunSettings(seed=self.seed),
        )

    def run(self, method: str, last: int) -> None:
        """All versions of one method that have no record yet."""
        records = Records.of(self.folder / f"{self._name}.jsonl")
        for number in [0] if method == FIRST else range(1, last + 1):
            if (method, number) in records:
                continue
            record = self._one(method, number)
            records.add(record)
            shown = {k: round(v, 4) if isinstance(v, float) else v for k, v in record.items()}
            print(json.dumps(shown), flush=True)

    def record(self, method: str, number: int) -> dict[str, Any]:
        """What was measured."""
        return Records.of(self.folder / f"{self._name}.jsonl")[method, number]

    @property
    def _name(self) -> str:
        return f"{self.chain.name}-{self.model}-{self.seed}"

    def _one(self, method: str, number: int) -> dict[str, Any]:
        settings = self.settings(method)
        problem, cost = self.chain.problem(number, settings), Cost()
        before = self.chain.problem(number - 1, settings).active if number else None
        change = self.chain.change(number) if number else None
        kept, epochs, choice = Kept(), 0, None
        old: Model | None = None
        if number and method != "scratch":
            old, kept = self._load(method, number - 1)  # which may take training
        warm_up(settings)
        started = time.process_time()
        if method in (FIRST, "scratch"):
            model, run = train_offline(problem, cost)
            epochs, kept = run.epochs, run.kept
        else:
            assert old is not None
            assert before is not None
            assert change is not None
            model = carry_over(old, before, problem)
            if method == "frozen":
                initialize(model, before, problem, cost)
            else:
                phases = Phases(SilentListener())
                task = UpdateTask(model, before, change, problem, phases, cost, kept=kept)
                run = strategy(method)(task)
                epochs, kept, choice = run.epochs, run.kept, run.choice
        seconds = time.process_time() - started
        record: dict[str, Any] = {
            "chain": self.chain.name,
            "model": self.model,
            "seed": self.seed,
            "method": method,
            "version": number,
            "train": problem.train.shape[1],
            "scores": cost.score_evaluations,
            "cpu_seconds": seconds,
            "epochs": epochs,
            **({"chosen": choice.strategy} if choice else {}),
            **measured(model, problem, before, change, self.size),
        }
        if old is not None and before is not None and change is not None:
            record |= _moved(old, before, model, problem)
            touched = [*change.added_triples.columns[::2], *change.deleted_triples.columns[::2]]
            rows = np.isin(problem.active.entities, np.concatenate(touched)).sum()
            record |= {"changed": len(change.added_triples) + len(change.deleted_triples)}
            record |= {"touched_rows": int(rows)}
        self._save(method, number, model, kept)
        return record

    def _model_path(self, method: str, number: int) -> Path:
        return self.folder / "models" / self._name / f"{method}-{number}.safetensors"

    def _save(self, method: str, number: int, model: Model, kept: Kept) -> None:
        path = self._model_path(method, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        tables = {f"table.{name}": table.numpy() for name, table in model.tables.items()}
        arrays = {f"kept.{name}": np.ascontiguousarray(a) for name, a in kept.arrays.items()}
        safetensors.numpy.save_file({**tables, **arrays}, path)

    def _load(self, method: str, number: int) -> tuple[Model, Kept]:
        """The model of a version; made again where only its record was kept."""
        method = method if number else FIRST
        path = self._model_path(method, number)
        if not path.exists():
            self._one(method, number)
        arrays = safetensors.numpy.load_file(path)
        tables = {
            name.removeprefix("table."): torch.from_numpy(array.copy())
            for name, array in arrays.items()
            if name.startswith("table.")
        }
        kept = {
            name.removeprefix("kept."): array
            for name, array in arrays.items()
            if name.startswith("kept.")
        }
        return model_class(self.model)(ModelSettings(self.model), tables), Kept(kept)


def _moved(old: Model, before: Active, model: Model, problem: Problem) -> dict[str, Any]:
    """How many rows of elements in both versions have changed, and NMC."""
    _, was, now = np.intersect1d(
        before.entities, problem.active.entities, assume_unique=True, return_indices=True
    )
    same = (old.tables["entity"][was] == model.tables["entity"][now]).all(1)
    nmc = model_change(old, before, model, problem.active, np.random.default_rng(0), sample=300)[
        "entity"
    ]
    return {"moved_rows": int((~same).sum()), "nmc": nmc.nmc if nmc else None}

"""Shared by the experiments: the versions of a store as training problems."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from kgsync.common.cost import Cost
from kgsync.config import Settings, load_settings
from kgsync.evaluation.ranking import LinkPrediction
from kgsync.graph.active import Active
from kgsync.graph.reading import Reading
from kgsync.graph.stores import opened
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.source.reading import Earlier, read_version, versions_of
from kgsync.training.offline import train_offline
from kgsync.training.problem import Problem
from kgsync.training.threads import use_threads


@dataclass(frozen=True)
class Stage:
    """One version of the history."""

    number: int
    reading: Reading

    @property
    def active(self) -> Active:
        """Its active entities and relations."""
        return Active.of(self.reading.edges)

    def problem(self, settings: Settings) -> Problem:
        """Return this version as a training problem."""
        return Problem.of(self.reading, settings)


def stages(settings: Settings, last: int) -> Iterator[Stage]:
    """The versions 0 to `last` of the store that the settings name."""
    use_threads(settings.run.threads)
    path = settings.source.store
    assert path is not None
    earlier = Earlier.committed(None, settings)
    with opened(path) as store:
        versions = versions_of(store, settings).versions[: last + 1]
    for number, version in enumerate(versions):
        with opened(path) as store:
            reading = read_version(store, (version,), earlier, settings)
        earlier = Earlier.read(reading, settings)
        yield Stage(number, reading)


def first_model(stage: Stage, settings: Settings, out: Path) -> Model:
    """The model of the first version: trained once, then loaded from `out`."""
    path = out / f"first-{settings.model.name}.safetensors"
    if not path.exists():
        model, run = train_offline(stage.problem(settings), Cost(), _say)
        print(f"\ntrained {run.epochs} epochs, best {run.best_epoch}")
        out.mkdir(parents=True, exist_ok=True)
        save_file(model.tables, path)
    return model_class(settings.model.name)(settings.model, load_file(path))


def tested(model: Model, problem: Problem) -> LinkPrediction:
    """Link prediction on the test part; exits if there is none."""
    quality = problem.test(model)
    if quality is None:
        raise SystemExit("there are no test edges; set split.test")
    return quality


def with_update(settings: Settings, **values: Any) -> Settings:
    """The settings, with some of `[update]` replaced."""
    return replace(settings, update=replace(settings.update, **values))


def options(description: str | None) -> argparse.ArgumentParser:
    """The options that all experiments share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("config", type=load_settings, help="a kgsync.toml")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    return parser


def read_csv(path: Path) -> list[dict[str, float]]:
    """Read rows of numbers; an empty list if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows with the same keys."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def _say(phase: str, done: int, total: int) -> None:
    print(f"\r{phase} {done}/{total} ", end="", flush=True)

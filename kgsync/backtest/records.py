"""The results of a backtest: one record per model, method and version, kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import safetensors.torch
from torch import Tensor

from kgsync.common.durable import UNFINISHED, write_file
from kgsync.common.locks import HeldError, take_lock
from kgsync.config import Settings
from kgsync.config.settings import differences
from kgsync.config.toml_files import with_new_names
from kgsync.errors import ConfigError, StateCorruptedError, StateLockedError

__all__ = ["METHODS", "Method", "Moment", "Record", "RecordFolder"]

Method = Literal["train", "update", "recalculate", "leave"]
_FORMAT = 3
_RECIPE, _HISTORY, _RECORDS = "recipe.json", "history.json", "[0-9]*-*.json"
METHODS: tuple[Method, ...] = ("update", "recalculate", "leave")
"""What a backtest compares; they share the first version, which is trained from scratch."""


@dataclass(frozen=True)
class Moment:
    """A validation during training."""

    epoch: int
    seconds: float
    mrr: float
    hits_at_10: float
    nmc_entities: float | None
    """Change since the validation before."""
    nmc_relations: float | None


@dataclass(frozen=True)
class Record:
    """The result of one method at one version."""

    model: str
    method: Method
    version: int
    """Place in the history, from 0."""
    graph_version: str
    triples: int
    entities: int
    relations: int
    added: int
    deleted: int
    mrr: float | None
    mrr_error: float | None
    mr: float | None
    hits_at_1: float | None
    hits_at_3: float | None
    hits_at_10: float | None
    hits_at_100: float | None
    accuracy: float | None
    """Of triple classification."""
    nmc_entities: float | None
    """Change since the version before."""
    nmc_entities_error: float | None
    nmc_relations: float | None
    seconds: float
    """Time of training or updating, validations included, measuring not."""
    epochs: int
    best_epoch: int | None
    score_evaluations: int
    gradient_steps: int
    moments: tuple[Moment, ...] = field(default=(), compare=False)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        """Read back what `asdict` made."""
        return cls(**{**data, "moments": tuple(Moment(**moment) for moment in data["moments"])})


class RecordFolder:
    """Records on disk, each with its final tables, so that a run can resume."""

    def __init__(self, path: Path) -> None:
        """Open or create a folder.

        Raises:
            ConfigError: The folder is not a backtest folder, or is not writable.
        """
        self.path = path
        marker, text = path / "backtest.json", json.dumps({"format": _FORMAT})
        if not marker.exists():
            unfinished = {marker.name + UNFINISHED}
            if path.exists() and (
                not path.is_dir() or {p.name for p in path.iterdir()} - unfinished
            ):
                raise ConfigError(
                    f"{path} is not a backtest folder; choose a new folder for the backtest"
                )
            try:
                path.mkdir(parents=True, exist_ok=True)
                write_file(marker, text)
            except OSError as error:
                raise ConfigError(f"cannot write results into {path}: {error.strerror}") from None
        elif marker.read_text(encoding="utf-8") != text:
            raise ConfigError(
                f"{path} was written by another version of kgsync; choose another folder"
            )

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes out while this one works in the folder.

        Raises:
            StateLockedError: Another process has it.
        """
        with (self.path / "backtest.json").open("rb") as file:
            try:
                take_lock(file, self.path / "backtest.json")
            except HeldError:
                raise StateLockedError(
                    f"another process is working in {self.path}; wait for it to finish"
                ) from None
            yield

    def begin(self, recipe: dict[str, Any], model: str = "") -> None:
        """Make sure that all results, or all of a model, come from the same recipe.

        Args:
            recipe: Settings that these results depend on.
            model: Name of the model; of all if not given.

        Raises:
            ConfigError: The folder has results of another recipe.
        """
        folder = self.path / model
        path, text = folder / _RECIPE, json.dumps(recipe, indent=1, sort_keys=True)
        # A run that failed before its first result leaves nothing behind.
        if not any(folder.glob(_RECORDS if model else f"*/{_RECORDS}")):
            folder.mkdir(exist_ok=True)
            write_file(path, text)
            if not model:
                (folder / _HISTORY).unlink(missing_ok=True)
        then, now = with_new_names(Settings, _read_json(path)), json.loads(text)
        if then != now:
            raise ConfigError(
                f"{folder} has results with other settings ({differences(then, now)}); "
                "choose another folder, or remove this one"
            )

    def follow(self, version: int, graph_version: str, edges: str) -> None:
        """Make sure that all results come from the same history.

        Args:
            version: Place in the history, from 0.
            graph_version: Name of the version.
            edges: Checksum of its edges.

        Raises:
            ConfigError: Another graph, or one with other edges, was in this place.
        """
        path, now = self.path / _HISTORY, [graph_version, edges]
        history = _read_json(path) if path.exists() else []
        if not any(self.path.glob(f"*/{version:04d}-*.json")):  # no results yet
            write_file(path, json.dumps([*history[:version], now], indent=1))
            return
        then = history[version]
        if then[0] != graph_version:
            raise ConfigError(
                f"version {version} was <{then[0]}> when {self.path} was made and is "
                f"<{graph_version}> now; choose another folder"
            )
        if then != now:
            raise ConfigError(
                f"<{graph_version}> had other edges when {self.path} was made; "
                "choose another folder"
            )

    def get(self, model: str, method: Method, version: int) -> Record | None:
        """A finished record."""
        path = self._file(model, method, version, "json")
        return _read(path) if path.exists() else None

    def tables(self, model: str, method: Method, version: int) -> dict[str, Tensor]:
        """The final tables of a record; all methods start from those of version 0."""
        path = self._file(model, method if version else "train", version, "safetensors")
        try:
            return safetensors.torch.load_file(path)
        except (OSError, safetensors.SafetensorError) as error:
            raise StateCorruptedError(
                f"cannot read {path}: {error}; remove {path.parent} to run that model again"
            ) from None

    def put(self, record: Record, tables: dict[str, Tensor]) -> None:
        """Keep a finished record; the tables of the version before last are removed."""
        model, method, version = record.model, record.method, record.version
        path = self._file(model, method, version, "safetensors")
        write_file(path, safetensors.torch.save({k: t.contiguous() for k, t in tables.items()}))
        text = json.dumps(asdict(record), indent=1)
        write_file(self._file(model, method, version, "json"), text)
        if version > 1:
            self._file(model, method, version - 1, "safetensors").unlink(missing_ok=True)

    def records(self) -> list[Record]:
        """All finished records, by model, version and method."""
        return sorted(
            map(_read, self.path.glob(f"*/{_RECORDS}")),
            key=lambda r: (r.model, r.version, r.method),
        )

    def export(self) -> None:
        """Write all records as results.parquet, .csv and .json, the moments as training.csv."""
        records = self.records()
        rows = [{k: v for k, v in asdict(record).items() if k != "moments"} for record in records]
        table = pa.Table.from_pylist(rows)
        _write_table(self.path / "results.parquet", pq.write_table, table)
        _write_table(self.path / "results.csv", pa.csv.write_csv, table)
        write_file(self.path / "results.json", json.dumps(rows, indent=1))
        moments = [
            {"model": r.model, "method": r.method, "version": r.version, **asdict(moment)}
            for r in records
            for moment in r.moments
        ]
        if moments:
            table = pa.Table.from_pylist(moments)
            _write_table(self.path / "training.csv", pa.csv.write_csv, table)

    def _file(self, model: str, method: Method, version: int, ending: str) -> Path:
        return self.path / model / f"{version:04d}-{method}.{ending}"


def _read(path: Path) -> Record:
    try:
        return Record.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, KeyError) as error:
        raise StateCorruptedError(f"cannot read {path}: {error}; remove it") from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StateCorruptedError(
            f"cannot read {path}: {error}; remove the folder {path.parent}"
        ) from None


def _write_table(path: Path, write: Callable[[Any, Any], None], table: Any) -> None:
    sink = pa.BufferOutputStream()
    write(table, sink)
    write_file(path, sink.getvalue().to_pybytes())

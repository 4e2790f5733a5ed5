"""The results of a backtest: one record per model, method and version, kept in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import safetensors.numpy
import safetensors.torch
from numpy.typing import NDArray
from torch import Tensor

from kgsync.backtest.methods import former_names, rank_of
from kgsync.backtest.record import Record, rows_of
from kgsync.common.durable import UNFINISHED, write_file
from kgsync.common.locks import HeldError, take_lock
from kgsync.config import Settings
from kgsync.config.settings import differences
from kgsync.config.toml_files import with_new_names
from kgsync.errors import ConfigError, StateCorruptedError, StateLockedError
from kgsync.training.kept import Kept

__all__ = ["RecordFolder"]

_FORMAT = 4
"""Raise it whenever the same graph and settings give other results than in the release before."""
_RECIPE, _HISTORY, _RECORDS = "recipe.json", "history.json", "[0-9]*-*.json"
_KEPT = "kept."
"""What the names of arrays begin with that are not tables of the model."""


class RecordFolder:
    """Records on disk, each with its final tables and what its method remembers, to resume from."""

    def __init__(self, path: Path) -> None:
        """Open or create a folder; one of an earlier release can be read, but not continued.

        Raises:
            ConfigError: The folder is not a backtest folder, is not writable, or is of a later
                release.
        """
        self.path = path
        self._format = _FORMAT
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
            return
        self._format = _format_of(marker)
        if self._format > _FORMAT:
            raise ConfigError(
                f"{path} has results of a later release of kgsync; update kgsync, or choose "
                "another folder"
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
            ConfigError: The folder has results of another recipe, or of an earlier release.
        """
        if self._format < _FORMAT:
            raise ConfigError(
                f"{self.path} has results of an earlier release of kgsync, which cannot be put "
                "beside new ones: the same graph and settings gave other vectors then; choose "
                "another folder, or remove this one to run everything again"
            )
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

    def get(self, model: str, method: str, version: int) -> Record | None:
        """A finished record."""
        path = self._there(model, method, version, "json")
        return _read(path) if path.exists() else None

    def tables(self, model: str, method: str, version: int) -> dict[str, Tensor]:
        """The final tables of a record; only those of the first and of the last version are kept.

        Raises:
            StateCorruptedError: They cannot be read.
        """
        return self.kept(model, method, version)[0]

    def kept(self, model: str, method: str, version: int) -> tuple[dict[str, Tensor], Kept]:
        """The final tables of a record, and what its method remembers for the next version.

        Raises:
            StateCorruptedError: They cannot be read.
        """
        path = self._there(model, method, version, "safetensors")
        try:
            found = safetensors.torch.load_file(path)
        except (OSError, safetensors.SafetensorError) as error:
            raise StateCorruptedError(
                f"cannot read {path}: {error}; remove {path.parent} to run that model again"
            ) from None
        names = [name for name in found if name.startswith(_KEPT)]
        arrays = {name.removeprefix(_KEPT): found.pop(name).numpy() for name in names}
        return found, Kept(arrays)

    def put(
        self, record: Record, tables: Mapping[str, Tensor], kept: Mapping[str, NDArray[Any]]
    ) -> None:
        """Keep a finished record; what only the version before needed is removed.

        Args:
            record: The record.
            tables: The final tables of its model.
            kept: What its method remembers for the next version.
        """
        model, method, version = record.model, record.method, record.version
        arrays = {name: table.numpy() for name, table in tables.items()}
        arrays |= {f"{_KEPT}{name}": array for name, array in kept.items()}
        path = self._file(model, method, version, "safetensors")
        in_order = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        write_file(path, safetensors.numpy.save(in_order))
        text = json.dumps(asdict(record), indent=1)
        write_file(self._file(model, method, version, "json"), text)
        if version > 1:
            self._there(model, method, version - 1, "safetensors").unlink(missing_ok=True)

    def records(self) -> list[Record]:
        """All finished records, by model, version and method."""
        return sorted(
            map(_read, self.path.glob(f"*/{_RECORDS}")),
            key=lambda r: (r.model, r.version, rank_of(r.method), r.method),
        )

    def export(self) -> None:
        """Write all records as results.parquet, .csv and .json, the moments as training.csv."""
        records = self.records()
        rows = rows_of(records)
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

    def _file(self, model: str, method: str, version: int, ending: str) -> Path:
        return self.path / model / f"{version:04d}-{method}.{ending}"

    def _there(self, model: str, method: str, version: int, ending: str) -> Path:
        """A file, under a former name if it has that."""
        path = self._file(model, method, version, ending)
        formerly = (self._file(model, name, version, ending) for name in former_names(method))
        return next((each for each in (path, *formerly) if each.exists()), path)


def _format_of(marker: Path) -> int:
    try:
        return int(json.loads(marker.read_text(encoding="utf-8"))["format"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StateCorruptedError(
            f"cannot read {marker}: {error}; choose another folder for the backtest"
        ) from None


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

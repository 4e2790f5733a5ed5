"""Sidecar files of one embedding version, readable without kgsync.

tensors.safetensors   every table of the model; row i belongs to the i-th IRI of its kind
index.parquet         kind, row, iri, trained
vectors.parquet       iri, kind, vector, trained
delta.parquet         iri, kind, change, distance: what differs from the previous version
sidecar.json          what the version is, with a checksum of every other file
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import safetensors.numpy
from numpy.typing import NDArray

from kgsync.common.durable import RecordedFiles, sealed
from kgsync.errors import ConfigError
from kgsync.state.npz import read_npz
from kgsync.state.tensors import dump_tensors

__all__ = [
    "DESCRIPTION",
    "FILES",
    "FOLDER",
    "FORMAT",
    "INDEX",
    "TENSORS",
    "VECTORS",
    "Sidecar",
    "load_vectors",
    "read_tables",
    "sidecar_files",
    "write_sidecar",
]

FORMAT = 1
"""Of sidecar.json."""
FOLDER = "embeddings"
"""Of the sidecar files, in the folder of a version."""
TENSORS, INDEX, VECTORS = "tensors.safetensors", "index.parquet", "vectors.parquet"
DELTA, DESCRIPTION = "delta.parquet", "sidecar.json"
FILES = {
    TENSORS: "application/octet-stream",
    INDEX: "application/vnd.apache.parquet",
    VECTORS: "application/vnd.apache.parquet",
    DELTA: "application/vnd.apache.parquet",
    DESCRIPTION: "application/json",
}
"""File name -> media type. Older versions of kgsync did not write the last two."""

Table = NDArray[np.float32]


@dataclass(frozen=True)
class Sidecar:
    """What goes into the files: the tables, and per kind the IRIs of their rows."""

    tables: dict[str, Table]
    iris: dict[str, Any]
    """"entity" and "relation" -> Arrow string array, in row order."""
    trained: dict[str, NDArray[np.bool_]]
    """Whether a row has a training triple."""
    delta: Any
    """What differs from the previous version, as an Arrow table; see `kgsync.state.delta`."""
    about: dict[str, Any]
    """What the version is: `version`, `previous`, `graph_version`, `created`, `model`."""


def write_sidecar(files: RecordedFiles, sidecar: Sidecar) -> None:
    """Write the files; the one that describes the others comes last."""
    _write_data(files, sidecar)
    with files.writing(DELTA) as file:
        pq.write_table(sidecar.delta, file, compression="zstd")
    description = {
        "format": FORMAT,
        **sidecar.about,
        "dimension": int(sidecar.tables["entity"].shape[1]),
        "files": {name: files.recorded[name] for name in FILES if name != DESCRIPTION},
    }
    text = json.dumps(sealed(description), indent=1, ensure_ascii=False)
    with files.writing(DESCRIPTION) as file:
        file.write(f"{text}\n".encode())


def _write_data(files: RecordedFiles, sidecar: Sidecar) -> None:
    header = {
        "kgsync": str(FORMAT),
        "version": str(sidecar.about["version"]),
        "graph_version": str(sidecar.about["graph_version"]),
    }
    with files.writing(TENSORS) as file:
        dump_tensors(file, sidecar.tables, header)
    kinds = ("entity", "relation")
    iris = pa.concat_arrays([sidecar.iris[kind] for kind in kinds])
    sizes = [len(sidecar.iris[kind]) for kind in kinds]
    kind = pa.concat_arrays([pa.repeat(k, n) for k, n in zip(kinds, sizes, strict=True)])
    row = np.concatenate([np.arange(n, dtype=np.int32) for n in sizes])
    trained = pa.array(np.concatenate([sidecar.trained[k] for k in kinds]))
    index = pa.table({"kind": kind, "row": row, "iri": iris, "trained": trained})
    with files.writing(INDEX) as file:
        pq.write_table(index, file, compression="zstd")
    vectors = pa.chunked_array([_lists(sidecar.tables[k]) for k in kinds])
    table = pa.table({"iri": iris, "kind": kind, "vector": vectors, "trained": trained})
    with files.writing(VECTORS) as file:
        # Splitting the bytes of the numbers would save a tenth of the space for twice the time.
        pq.write_table(table, file, compression="zstd", use_dictionary=["kind"])


def sidecar_files(files: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Those files of a version that are sidecar files, by their names in their own folder."""
    inside = f"{FOLDER}/"
    return {
        name.removeprefix(inside): about for name, about in files.items() if name.startswith(inside)
    }


def read_tables(folder: Path) -> dict[str, Table]:
    """The tables of a sidecar."""
    return dict(safetensors.numpy.load_file(folder / TENSORS))


def load_vectors(path: Path) -> dict[str, tuple[list[str], Table]]:
    """Load existing vectors by IRI, to adopt them.

    Args:
        path: A Parquet file with the columns `iri`, `kind` ("entity" or "relation") and `vector`;
            or an .npz file with `entity_iris`, `entity_vectors`, `relation_iris`,
            `relation_vectors`.

    Raises:
        ConfigError: The file cannot be read, or has another layout.
    """
    try:
        if path.suffix == ".npz":
            kinds = ("entity", "relation")
            arrays = read_npz(path, [f"{k}_{part}" for k in kinds for part in ("iris", "vectors")])
            return {
                kind: _checked(
                    path,
                    kind,
                    arrays[f"{kind}_iris"].astype(str).tolist(),
                    arrays[f"{kind}_vectors"],
                )
                for kind in kinds
            }
        missing = {"iri", "kind", "vector"} - set(pq.read_schema(path).names)
        if missing:
            raise ConfigError(
                f"{path} has no column {min(missing)}; kgsync adopts the vectors.parquet of a "
                "version, or an .npz as `kgsync export` writes it"
            )
        table = pq.read_table(path, columns=["iri", "kind", "vector"])
        if any(column.null_count for column in table.columns):
            raise ConfigError(f"{path} has rows without an IRI, kind or vector")
        strange = set(pc.unique(table["kind"]).to_pylist()) - {"entity", "relation"}
        if strange:
            raise ConfigError(f"{path} has rows whose kind is not entity or relation: {strange}")
        found = {}
        for kind in ("entity", "relation"):
            rows = table.filter(pc.equal(table["kind"], kind)).combine_chunks()
            lengths = pc.unique(pc.list_value_length(rows["vector"])).to_pylist()
            if len(lengths) != 1:
                raise ConfigError(f"{path}: the {kind} vectors are missing or differ in length")
            numbers = pc.list_flatten(rows["vector"]).to_numpy()
            vectors = numbers.reshape(rows.num_rows, *lengths)
            found[kind] = _checked(path, kind, rows["iri"].to_pylist(), vectors)
        return found
    except FileNotFoundError:
        raise ConfigError(f"there is no file {path}") from None
    except (OSError, ValueError, KeyError, MemoryError, pa.ArrowException) as error:
        raise ConfigError(
            f"cannot read vectors from {path}: {error}; give a Parquet file with the columns "
            "iri, kind, vector, or an .npz with entity_iris, entity_vectors, relation_iris, "
            "relation_vectors"
        ) from error


def _checked(path: Path, kind: str, iris: list[str], vectors: Any) -> tuple[list[str], Table]:
    matrix = np.asarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != len(iris) or not len(iris):
        raise ConfigError(f"{path} holds no usable {kind} vectors")
    if len(set(iris)) != len(iris):
        raise ConfigError(f"{path} names a {kind} twice")
    if not np.isfinite(matrix).all():
        raise ConfigError(f"{path} holds {kind} vectors that are not finite numbers")
    return iris, matrix


def _lists(table: Table) -> Any:
    offsets = np.arange(0, table.size + 1, max(1, table.shape[1]), dtype=np.int64)
    return pa.LargeListArray.from_arrays(offsets, pa.array(table.reshape(-1)))

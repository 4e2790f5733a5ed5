"""Parts of a graph on disk, so that an interrupted scan can resume."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

from kgsync.adapters.sparql.parts import Part
from kgsync.common.durable import sha256_of, write_file
from kgsync.graph.edge_hash import edge_hash
from kgsync.graph.port import TripleBatch
from kgsync.queries import Pattern

__all__ = ["KeptParts", "bucket_counts"]

_KEPT_SECONDS = 3600.0
_SCHEMA = pa.schema([(name, pa.string()) for name in ("s", "p", "o")])


class KeptParts:
    """The cached parts of one graph, until all of them were passed on."""

    def __init__(self, workspace: Path | None, where: Pattern, total: int) -> None:
        """Name the graph.

        Args:
            workspace: Where the folders of graphs are; nothing is kept if not given.
            where: The graph.
            total: How many triples it has.
        """
        digest = hashlib.sha256(f"{where} {total}".encode()).hexdigest()[:16]
        self._folder = workspace / "parts" / digest if workspace else None

    def __enter__(self) -> KeptParts:
        if self._folder is not None:
            for folder in self._folder.parent.glob("*"):
                if folder.stat().st_mtime < time.time() - _KEPT_SECONDS:
                    shutil.rmtree(folder)
            self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._folder is not None and kind is None:
            shutil.rmtree(self._folder)

    def batches(self, part: Part) -> list[TripleBatch]:
        """A part that was fetched before; empty if it was not."""
        file = self._found(part)
        if file is None:
            return []
        try:
            with pa.memory_map(str(file)) as source, pa.ipc.open_file(source) as reader:
                found = [reader.get_batch(number) for number in range(reader.num_record_batches)]
        except (OSError, pa.ArrowInvalid):  # it is not there, or is damaged
            return []
        return [_encoded(batch) for batch in found]

    def keep(self, part: Part, batches: list[TripleBatch]) -> None:
        """Store a complete part."""
        file = self._file(part)
        if file is None or not batches:
            return
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, _SCHEMA) as writer:
            for batch in batches:
                columns = [column.cast(pa.string()) for column in batch.columns]
                writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=_SCHEMA))
        # The checksum is in the name: a file that was damaged is fetched again.
        content = memoryview(sink.getvalue())
        digest = hashlib.sha256(content).hexdigest()
        write_file(file.with_suffix(f".{digest}.arrow"), content, lasting=False)

    def _found(self, part: Part) -> Path | None:
        file = self._file(part)
        if file is None:
            return None
        kept = file.parent.glob(f"{file.stem}.*.arrow")
        return next((one for one in kept if one.name.split(".")[1] == sha256_of(one)), None)

    def _file(self, part: Part) -> Path | None:
        if self._folder is None:
            return None
        name = hashlib.sha256(f"{part.where} {part.count}".encode()).hexdigest()[:16]
        return self._folder / f"{name}.arrow"


def bucket_counts(batches: Iterable[TripleBatch], digits: int) -> dict[str, int]:
    """Number of edges in every bucket; see `kgsync.graph.port.BucketReader`."""
    counts: Counter[str] = Counter()
    for batch in batches:
        columns = (column.to_pylist() for column in batch.columns)
        for terms in zip(*columns, strict=True):
            s, _, o = terms
            if s[:1] == o[:1] == "<" and not o.startswith("<<"):
                counts[edge_hash(*(term[1:-1] for term in terms))[:digits]] += 1
    return dict(counts)


def _encoded(batch: Any) -> TripleBatch:
    columns = [column.dictionary_encode() for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

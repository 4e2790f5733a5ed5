"""Results as lines of JSON: one file per chain, model and seed, to go on from on any machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Record", "Records", "every_record"]

Record = dict[str, Any]


@dataclass
class Records:
    """The records of one contest."""

    path: Path
    _found: dict[tuple[str, int], Record] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> Records:
        """Read what there is; a line that was cut off is measured again."""
        records = cls(path)
        for record in _lines(path):
            records._found[record["method"], record["version"]] = record
        return records

    def __contains__(self, key: tuple[str, int]) -> bool:
        return key in self._found

    def __getitem__(self, key: tuple[str, int]) -> Record:
        return self._found[key]

    def add(self, record: Record) -> None:
        """Append one record."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
        self._found[record["method"], record["version"]] = record


def every_record(folder: Path) -> list[Record]:
    """All records of a folder."""
    files = [Records.of(path) for path in sorted(folder.glob("*.jsonl"))]
    return [record for records in files for record in records._found.values()]


def _lines(path: Path) -> Iterator[Record]:
    if not path.exists():
        return
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue

"""CURRENT: the file whose replacement is the commit, with its own checksum."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgsync.common.durable import sealed, unsealed, write_file

__all__ = ["Pointer"]


@dataclass(frozen=True)
class Pointer:
    """Which version is current, and the highest number ever given."""

    version: int | None
    highest: int
    is_sealed: bool = True
    """Whether the file has a checksum; older versions of kgsync wrote none."""

    @classmethod
    def read(cls, path: Path) -> Pointer:
        """What the file says.

        Raises:
            OSError: It cannot be read.
            ValueError: It is damaged.
        """
        content = json.loads(path.read_text(encoding="utf-8"))
        values = unsealed(content)
        # A flipped bit in a name makes another name of it, also of that of the checksum.
        if not isinstance(values, dict) or set(values) != {"version", "highest"}:
            raise ValueError("it is not what kgsync wrote")
        if not _is_possible(**values):
            raise ValueError("its numbers are impossible")
        return cls(**values, is_sealed="sha256" in content)

    def write(self, path: Path) -> None:
        """Replace the file atomically.

        Raises:
            OSError: Writing to disk failed.
        """
        content = {"version": self.version, "highest": self.highest}
        write_file(path, json.dumps(sealed(content)) + "\n")


def _is_possible(version: Any, highest: Any) -> bool:
    if type(highest) is not int or highest < 0:
        return False
    return version is None or (type(version) is int and 0 < version <= highest)

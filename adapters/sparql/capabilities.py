"""Cached knowledge about an endpoint: capabilities, limits and quirks."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from kgsync.adapters.sparql.dialects import Dialect, dialect_of
from kgsync.common.durable import sealed, unsealed, write_file
from kgsync.graph.edge_hash import decimals, md5_of
from kgsync.graph.port import Marks, Term

__all__ = ["Known"]

_FILE = "endpoint.json"


@dataclass(frozen=True)
class Known:
    """What is known about an endpoint."""

    server: str = ""
    """What the server calls itself."""
    hashes: bool = False
    """Whether its MD5 follows the standard."""
    sums: bool | None = None
    """Whether it can convert hashes to numbers; None if not tested."""
    max_rows: int | None = None
    suspected: int | None = None
    """Length of a short result: a row limit if it happens again."""

    @classmethod
    def of(cls, server: str, hash_: Term | None, number: Term | None) -> Known:
        """Interpret the result of `_can_hash`."""
        expected = md5_of("kgsync")
        digits = re.sub("[a-f]", "", expected)[: decimals()].lstrip("0")
        sums = number is not None and number.value.lstrip("0") == digits
        return cls(server, hash_ is not None and hash_.value == expected, sums)

    @classmethod
    def load(cls, workspace: Path) -> Known | None:
        """Load the cached knowledge, if it is complete."""
        try:
            text = (workspace / _FILE).read_text("utf-8")
            known = cls(**unsealed(json.loads(text)))
        except (OSError, ValueError, TypeError):
            return None
        return known if known.sums is not None else None

    def save(self, workspace: Path) -> None:
        """Save the knowledge."""
        workspace.mkdir(parents=True, exist_ok=True)
        write_file(workspace / _FILE, json.dumps(sealed(asdict(self))))

    @staticmethod
    def forget(workspace: Path) -> None:
        """Remove the cached knowledge."""
        with suppress(OSError):  # then it is forgotten the next time
            (workspace / _FILE).unlink(missing_ok=True)

    def is_about(self, server: str) -> bool:
        """Whether a server is of the kind that this was found out about, of any version."""
        return server.partition("/")[0] == self.server.partition("/")[0]

    @property
    def dialect(self) -> Dialect:
        """The dialect of the server."""
        return dialect_of(self.server)

    @property
    def checksums(self) -> Literal["none", "ascii", "all"]:
        """For which IRIs its checksums follow the standard."""
        return self.dialect.hashed if self.hashes and self.sums else "none"

    @property
    def marks(self) -> Marks | None:
        """Which bucket marks it can compute, where that is faster than reading."""
        if not (self.hashes and self.dialect.hashes_fast):
            return None
        return "sums" if self.sums else "ends"

    def is_system_graph(self, name: str) -> bool:
        """Whether a graph is a system graph of the server."""
        return bool(self.dialect.system_graphs.fullmatch(name))

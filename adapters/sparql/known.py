"""What was found out about an endpoint, and is remembered: its abilities, limits and quirks."""

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
    """What was found out about an endpoint."""

    server: str = ""
    """What the server calls itself."""
    hashes: bool = False
    """Whether it computes MD5 as everybody does."""
    sums: bool | None = None
    """Whether it makes numbers of hashes; None if that was never asked."""
    max_rows: int | None = None
    suspected: int | None = None
    """How many rows came when more were there: a limit if it happens again."""

    @classmethod
    def of(cls, server: str, hash_: Term | None, number: Term | None) -> Known:
        """What the answer to `_can_hash` says."""
        expected = md5_of("kgsync")
        digits = re.sub("[a-f]", "", expected)[: decimals()].lstrip("0")
        sums = number is not None and number.value.lstrip("0") == digits
        return cls(server, hash_ is not None and hash_.value == expected, sums)

    @classmethod
    def load(cls, workspace: Path) -> Known | None:
        """What is remembered, if all is that has to be known."""
        try:
            text = (workspace / _FILE).read_text("utf-8")
            known = cls(**unsealed(json.loads(text)))
        except (OSError, ValueError, TypeError):
            return None
        return known if known.sums is not None else None

    def save(self, workspace: Path) -> None:
        """Remember it."""
        workspace.mkdir(parents=True, exist_ok=True)
        write_file(workspace / _FILE, json.dumps(sealed(asdict(self))))

    @staticmethod
    def forget(workspace: Path) -> None:
        """Have it found out again."""
        with suppress(OSError):  # then it is forgotten the next time
            (workspace / _FILE).unlink(missing_ok=True)

    def is_about(self, server: str) -> bool:
        """Whether a server is of the kind that this was found out about, of any version."""
        return server.partition("/")[0] == self.server.partition("/")[0]

    @property
    def dialect(self) -> Dialect:
        """What is particular about the server."""
        return dialect_of(self.server)

    @property
    def checksums(self) -> Literal["none", "ascii", "all"]:
        """For which IRIs it computes checksums as everybody does."""
        return self.dialect.hashed if self.hashes and self.sums else "none"

    @property
    def marks(self) -> Marks | None:
        """What it can say about the hashes in a bucket, where that pays."""
        if not (self.hashes and self.dialect.hashes_fast):
            return None
        return "sums" if self.sums else "ends"

    def is_system_graph(self, name: str) -> bool:
        """Whether a graph is one that the server brings along."""
        return bool(self.dialect.system_graphs.fullmatch(name))

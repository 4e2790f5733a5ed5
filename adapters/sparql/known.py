"""What was found out about an endpoint, and is remembered: its abilities, limits and quirks."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from kgsync.common.durable import sealed, unsealed, write_file
from kgsync.graph.port import Marks, Term

__all__ = ["Known"]

_FILE = "endpoint.json"
_DECIMALS = 9
"""Digits of a hash that make a number; see `kgsync.source.buckets`."""
_SYSTEM_GRAPHS = re.compile(
    r"http://www\.openlinksw\.com/schemas/virtrdf#|http://localuriqaserver/sparql"
    r"|http://www\.w3\.org/ns/ldp#|http://localhost:\d+/(sparql|DAV/)|virtrdf-label"
    r"|urn:(core:services:sparql|activitystreams-owl:map|rules\.skos)"
)
"""What Virtuoso brings along."""


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
        expected = hashlib.md5(b"kgsync", usedforsecurity=False).hexdigest()
        digits = re.sub("[a-f]", "", expected)[:_DECIMALS].lstrip("0")
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
    def is_virtuoso(self) -> bool:
        """Whether the server is one with quirks of its own."""
        return "Virtuoso" in self.server

    @property
    def checksums(self) -> Literal["none", "ascii", "all"]:
        """For which IRIs it computes checksums as everybody does."""
        if not (self.hashes and self.sums):
            return "none"
        # It hashes IRIs with other letters in its own way where they are objects.
        return "ascii" if self.is_virtuoso else "all"

    @property
    def marks(self) -> Marks | None:
        """What it can say about the hashes in a bucket."""
        # Virtuoso also takes longer for hashing triples than for sending them.
        if not self.hashes or self.is_virtuoso:
            return None
        return "sums" if self.sums else "ends"

    def is_system_graph(self, name: str) -> bool:
        """Whether a graph is one that the server brings along."""
        return self.is_virtuoso and bool(_SYSTEM_GRAPHS.fullmatch(name))

"""Protects a parser from hostile files: stops before memory runs out.

What a parser keeps grows with a statement that does not end, with brackets or elements that are
opened and not closed (300 bytes and more for each), and with entities made of entities. So these
are counted before the parser sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Protocol, cast
from xml.parsers import expat

from kgsync.errors import PermanentStoreError
from kgsync.graph.files.rdf_bytes import LONGEST_LINE

__all__ = ["Brackets", "Elements", "Guard"]

_DEEPEST = 10_000
"""Brackets or elements that may be open at once; class expressions of ontologies reach dozens."""
_ENTITIES = 1 << 20
"""Characters that the entities of an XML file may stand for; a namespace has some dozens."""
_PLAIN = re.compile(rb"(?:[^\"'#<>\\\[\](){}]++|<[^<>]*+>|\"[^\"\\]++\")*+")
"""Text without brackets, including whole IRIs and strings: nearly everything."""
_TOKEN = re.compile(rb"\\.|\"\"\"|'''|<<|>>|[\"'#<\[({\])}]", re.DOTALL)
_END = {
    b'"': re.compile(rb'\\.|"', re.DOTALL),
    b"'": re.compile(rb"\\.|'", re.DOTALL),
    b'"""': re.compile(rb'\\.|"""', re.DOTALL),
    b"'''": re.compile(rb"\\.|'''", re.DOTALL),
    b"#": re.compile(rb"[\n\r]"),
    b"<": re.compile(rb">"),
}
_OPENING = frozenset([b"<<", b"[", b"(", b"{"])
_REFERENCE = re.compile(r"&([^;#]+);")


class _UnboundedError(Exception):
    """The file contains something that no legitimate file has."""


class Nesting(Protocol):
    """Sees all bytes of a file, piece by piece."""

    chunk: int
    """Bytes that a piece should have."""
    longest: int
    """Bytes that may come without a statement."""

    def see(self, data: bytes) -> None:
        """Count what the next piece opens and closes."""


class Guard:
    """A file as a parser reads it."""

    def __init__(self, path: Path, file: IO[bytes], nesting: Nesting | None = None) -> None:
        """Wrap an open file."""
        self._path, self._file, self._nesting = path, file, nesting
        self._size = nesting.chunk if nesting else Brackets.chunk
        self._longest = nesting.longest if nesting else Brackets.longest
        self._chunk, self._at = b"", 0
        self._since, self._line = 0, 1

    def read(self, size: int = -1) -> bytes:
        """Bytes for the parser.

        Raises:
            PermanentStoreError: The file contains something that no legitimate file has.
        """
        if self._at >= len(self._chunk):
            self._next()
        data = self._chunk[self._at : self._at + size if size >= 0 else None]
        self._at += len(data)
        return data

    def statements(self, parsed: Any) -> Iterator[Any]:
        """Pass on the parsed statements, and note that statements end."""
        for statement in parsed:
            self._since = 0
            yield statement

    def wrong(self, what: object) -> PermanentStoreError:
        """Return an error that names the current position."""
        return PermanentStoreError(f"{self._path}, near line {self._line}: {what}")

    def _next(self) -> None:
        self._chunk, self._at = self._file.read(self._size), 0
        self._since += len(self._chunk)
        if self._since > self._longest:
            raise self.wrong(
                f"no statement ends within {self._longest >> 20} MiB; if the file is not damaged, "
                "convert it to N-Triples"
            )
        if self._nesting is not None and self._chunk:
            try:
                self._nesting.see(self._chunk)
            except _UnboundedError as error:
                raise self.wrong(error) from error
            except expat.ExpatError as error:
                reason = expat.ErrorString(error.code)
                raise PermanentStoreError(f"{self._path}, line {error.lineno}: {reason}") from error
        self._line += self._chunk.count(b"\n")


class Brackets:
    """How many brackets of Turtle, TriG or N3 are open."""

    chunk = 1 << 16
    longest = LONGEST_LINE

    def __init__(self) -> None:
        """Start outside all brackets."""
        self._inside: bytes | None = None
        """The token that opened the current string, comment or IRI."""
        self._rest = b""
        self._open = 0

    def see(self, data: bytes) -> None:
        """Count the brackets of the next piece."""
        data = self._rest + data
        at, end = 0, len(data) - 2  # a token may have three bytes, and go on in the next piece
        while at < end:
            if not self._inside:
                at = cast("re.Match[bytes]", _PLAIN.match(data, at)).end()
            match = (_END[self._inside] if self._inside else _TOKEN).search(data, at)
            if match is None or match.start() >= end:
                at = max(at, end)
            else:
                at = match.end()
                self._meet(match[0])
        self._rest = data[at:]

    def _meet(self, token: bytes) -> None:
        if token.startswith(b"\\"):
            return
        if self._inside:
            self._inside = None
        elif token in _END:
            self._inside = token
        else:
            self._open = max(0, self._open + (1 if token in _OPENING else -1))
            if self._open > _DEEPEST:
                raise _UnboundedError(f"more than {_DEEPEST:,} brackets are open at once")


class Elements:
    """How many elements of an XML file are open; expat itself limits what references expand to."""

    chunk = 1 << 20
    longest = 16 << 20
    """As much as pyoxigraph buffers elsewhere: expat looks at all of a token with every piece."""

    def __init__(self) -> None:
        """Start before the first element."""
        self._open = self._characters = 0
        self._entities: dict[str, int] = {}
        self._expat = expat.ParserCreate()
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.EntityDeclHandler = self._declare

    def see(self, data: bytes) -> None:
        """Count the elements of the next piece."""
        self._expat.Parse(data, False)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._open += 1
        if self._open > _DEEPEST:
            raise _UnboundedError(f"more than {_DEEPEST:,} elements are open at once")

    def _end(self, name: str) -> None:
        self._open -= 1

    def _declare(self, name: str, parameter: int, value: str | None, *others: Any) -> None:
        parts = _REFERENCE.findall(value or "")
        size = len(value or "") + sum(self._entities.get(part, 0) for part in parts)
        self._entities[name] = size
        self._characters += size
        if self._characters > _ENTITIES:
            raise _UnboundedError(f"entities stand for more than {_ENTITIES >> 20} MiB of text")

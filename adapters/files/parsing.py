"""Parse RDF files into triple batches, in blocks, with every term in one canonical form.

Two files can write one triple in two ways: with escapes or without, with `xsd:string` or without.
Lines that are canonical already, nearly all of them, are cut into columns as they are, which takes
half the time; pyoxigraph parses the others, and what is not made of lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyoxigraph as ox
from numpy.typing import NDArray

from kgsync.adapters.columns import batch_of
from kgsync.adapters.files.guard import Brackets, Elements, Guard
from kgsync.adapters.oxigraph.terms import term_text
from kgsync.common.rdf_terms import CANONICAL, XSD
from kgsync.errors import PermanentStoreError, TransientStoreError
from kgsync.graph.files.rdf_bytes import LONGEST_LINE, READ_ERRORS, open_file
from kgsync.graph.files.rdf_files import rdf_suffix
from kgsync.graph.port import TripleBatch

__all__ = ["Parsed", "line_blocks", "opened_file", "parse_file", "parse_lines"]

_BLOCK_BYTES = 1 << 22
_BLOCK_ROWS = 10_000
_FORMATS = {
    ".jsonld": ox.RdfFormat.JSON_LD,
    ".n3": ox.RdfFormat.N3,
    ".nq": ox.RdfFormat.N_QUADS,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".owl": ox.RdfFormat.RDF_XML,
    ".rdf": ox.RdfFormat.RDF_XML,
    ".trig": ox.RdfFormat.TRIG,
    ".ttl": ox.RdfFormat.TURTLE,
    ".xml": ox.RdfFormat.RDF_XML,
}
_NESTING = {".jsonld": None, ".owl": Elements, ".rdf": Elements, ".xml": Elements}
"""What counts how deep a file is nested, if not brackets; JSON's parser does it itself."""
_STRING = f'"^^<{XSD}string> .'
_NOTHING = r"^[ \t\r]*(?:#|$)"


@dataclass(frozen=True)
class Parsed:
    """Some triples of a file."""

    batch: TripleBatch
    graphs: list[str | None] | None = None
    """For every triple its graph's IRI or blank node; None if all are in the default graph."""
    lines: NDArray[np.int64] | None = None
    """For every triple its line, if the file is made of lines."""


def parse_file(path: Path) -> Iterator[Parsed]:
    """The triples of a dump, which may repeat themselves.

    Raises:
        PermanentStoreError: Not such a file, or a syntax error; the message names the line.
        TransientStoreError: A compressed file ends too early.
    """
    format_ = _FORMATS[rdf_suffix(path)]
    with opened_file(path) as file:
        if format_ in (ox.RdfFormat.N_TRIPLES, ox.RdfFormat.N_QUADS):
            for first, lines in line_blocks(path, file):
                numbers = np.arange(first, first + len(lines))
                some = pc.invert(pc.match_substring_regex(lines, _NOTHING))
                yield from parse_lines(path, lines.filter(some), numbers[np.asarray(some)], format_)
        else:
            yield from _guarded(path, file, format_)


def _guarded(path: Path, file: IO[bytes], format_: ox.RdfFormat) -> Iterator[Parsed]:
    """The triples of a file that is not made of lines."""
    nesting = _NESTING.get(rdf_suffix(path), Brackets)
    guard = Guard(path, file, nesting() if nesting else None)
    try:
        with _syntax_errors(path):
            quads = ox.parse(cast("IO[bytes]", guard), format=format_, lenient=True)
            for parsed in _parsed(guard.statements(quads)):
                if format_ == ox.RdfFormat.N3 and any(parsed.graphs or ()):
                    raise guard.wrong("N3 formulas are not supported; write triples only")
                yield parsed
    except MemoryError as error:  # pyoxigraph raises it when its buffer is full
        raise guard.wrong(f"a term or a comment is too long: {error}") from error


def line_blocks(path: Path, file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    """The lines of an open file as Arrow arrays, each with the number of its first line."""
    first = 1
    pieces: list[bytes] = []
    """The beginning of a line whose end was not read yet."""
    while data := file.read(_BLOCK_BYTES):
        end = data.rfind(b"\n")
        if end < 0:
            pieces.append(data)
            if sum(map(len, pieces)) > LONGEST_LINE:
                raise PermanentStoreError(
                    f"{path}, line {first}: longer than {LONGEST_LINE >> 20} MiB; the file "
                    "is damaged, or does not have one statement per line"
                )
            continue
        lines = _lines(path, first, b"".join([*pieces, data[:end]]))
        yield first, lines
        first, pieces = first + len(lines), [data[end + 1 :]]
    yield first, _lines(path, first, b"".join(pieces))


def _lines(path: Path, first: int, block: bytes) -> Any:
    try:
        return pc.split_pattern(pa.array([block.decode()]), "\n").flatten()
    except UnicodeDecodeError as error:
        line = first + block.count(b"\n", 0, error.start)
        raise PermanentStoreError(f"{path}, line {line}: not UTF-8 text") from error


def parse_lines(
    path: Path,
    lines: Any,
    numbers: NDArray[np.int64],
    format_: ox.RdfFormat = ox.RdfFormat.N_TRIPLES,
) -> Iterator[Parsed]:
    """Lines with one triple or quad each, in at most two parts.

    Args:
        path: Their file, for messages.
        lines: An Arrow array of text.
        numbers: Their numbers in the file.
        format_: N-Triples or N-Quads.
    """
    canonical = np.asarray(pc.match_substring_regex(lines, CANONICAL))
    canonical &= ~np.asarray(pc.ends_with(lines, _STRING))
    if canonical.any():
        parts = pc.split_pattern(lines.filter(pa.array(canonical)), " ", max_splits=2).flatten()
        subjects, predicates, objects = (
            parts.take(pa.array(np.arange(start, len(parts), 3))) for start in range(3)
        )
        objects = pc.utf8_slice_codeunits(objects, 0, -2)
        yield Parsed(batch_of(subjects, predicates, objects), None, numbers[canonical])
    if not canonical.all():
        others, where = lines.filter(pa.array(~canonical)), numbers[~canonical]
        with _syntax_errors(path, where):
            try:
                quads = list(ox.parse(_joined(others), format=format_, lenient=True))
            except MemoryError as error:  # pyoxigraph raises it when its buffer is full
                raise PermanentStoreError(
                    f"{path}, between lines {where[0]} and {where[-1]}: a term or a comment is "
                    f"too long: {error}"
                ) from error
        if len(quads) != len(where):
            raise PermanentStoreError(
                f"{path}, between lines {where[0]} and {where[-1]}: not one statement per line"
            )
        for parsed in _parsed(iter(quads)):
            some, where = where[: parsed.batch.num_rows], where[parsed.batch.num_rows :]
            yield Parsed(parsed.batch, parsed.graphs, some)


@contextmanager
def opened_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file; errors while it is read name the file."""
    try:
        with open_file(path) as file:
            yield file
    except EOFError as error:
        raise TransientStoreError(
            f"{path} ends too early: it may still be being written; try again when it is complete"
        ) from error
    except READ_ERRORS as error:
        raise PermanentStoreError(f"cannot read {path}: {error}") from error


def _parsed(quads: Any) -> Iterator[Parsed]:
    while block := list(islice(quads, _BLOCK_ROWS)):
        columns = zip(*((q.subject, q.predicate, q.object) for q in block), strict=True)
        batch = batch_of(*(pa.array(map(term_text, column), pa.string()) for column in columns))
        yield Parsed(batch, [_graph(quad.graph_name) for quad in block])


def _graph(name: Any) -> str | None:
    if isinstance(name, ox.DefaultGraph):
        return None
    return str(name.value) if isinstance(name, ox.NamedNode) else str(name)


def _joined(lines: Any) -> bytes:
    return "\n".join(lines.to_pylist()).encode()


@contextmanager
def _syntax_errors(path: Path, numbers: NDArray[np.int64] | None = None) -> Iterator[None]:
    """Syntax errors under the file's name and, of some of its lines, the right line."""
    try:
        yield
    except SyntaxError as error:
        line = error.lineno or 1
        if numbers is not None:
            line = int(numbers[min(line, len(numbers)) - 1])
        reason = str(error.msg).partition(": ")[2] or error.msg
        raise PermanentStoreError(f"{path}, line {line}: {reason}") from error

"""Small input files, facts as plain Python values, and slow counterparts of the builders."""

from __future__ import annotations

import gzip
from collections.abc import Iterable
from pathlib import Path

from kgsync.snapshots.facts import Facts
from kgsync.snapshots.iris import Naming
from kgsync.snapshots.plain import read_static, read_timed
from kgsync.snapshots.version import BuiltVersion
from tests.graph.graphs import Edge, edge_list

NAMING = Naming("http://example.org/")
ENTITY, RELATION = "http://example.org/entity/", "http://example.org/relation/"

Timed = tuple[str, str, str, int]
"""Head, relation, tail, time."""


def write(path: Path, *lines: str) -> Path:
    """A text file, gzipped if its name says so."""
    data = "".join(f"{line}\n" for line in lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def timed(folder: Path, facts: Iterable[Timed]) -> Facts:
    """Timed facts, through a file."""
    lines = ("\t".join(map(str, fact)) for fact in facts)
    return read_timed([write(folder / "facts.txt", *lines)], NAMING)


def static(folder: Path, facts: Iterable[Edge]) -> Facts:
    """Facts without times, through a file."""
    return read_static([write(folder / "facts.txt", *map("\t".join, facts))], NAMING)


def names(version: BuiltVersion) -> set[Edge]:
    """The edges of a version by the names they had in the file."""
    return {
        (s.removeprefix(ENTITY), p.removeprefix(RELATION), o.removeprefix(ENTITY))
        for s, p, o in edge_list(version.edges, version.terms)
    }

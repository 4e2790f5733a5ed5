"""A version that arrives in many parts, numbered part by part, is the same version."""

from __future__ import annotations

import pytest

from kgsync.adapters import columns
from kgsync.graph import rows
from kgsync.graph.port import TripleSource
from kgsync.graph.rows import Skipped
from kgsync.graph.stores import open_store
from kgsync.graph.terms import TermIndex
from kgsync.source.fetch import fetch
from tests.graph.graphs import EX, OLD, as_edges, ntriples, oxigraph

VERSION = frozenset((f"{EX}s{n % 17}", f"{EX}p{n % 3}", f"{EX}o{n * n % 101}") for n in range(400))
# Terms that are no edges' come before, between and after those that are.
NOISE = "".join(
    f'<{EX}s{n}> <{EX}name> "{n % 5}" .\n'
    f"<{EX}s{n}> <{EX}p0> _:b{n % 4} .\n"
    f"<{EX}s{n}> <{EX}only-here> <{EX}not\\u0020valid{n % 3}> .\n"
    for n in range(30)
)


@pytest.mark.parametrize("block", [1, 500, 1 << 20])
@pytest.mark.parametrize("waiting", [1, 2_000, 1 << 22])
def test_the_parts_do_not_matter(monkeypatch: pytest.MonkeyPatch, block: int, waiting: int) -> None:
    monkeypatch.setattr(columns, "_BLOCK_BYTES", block)
    monkeypatch.setattr(rows, "_WAITING_BYTES", waiting)
    reader = open_store(oxigraph({OLD: ntriples(VERSION) + NOISE}, lenient=True))
    found = fetch(reader, TripleSource(OLD), TermIndex(b"k"), None)
    assert as_edges(found.edges, found.terms) == VERSION
    assert found.skipped == Skipped(literals=30, blank_nodes=30, invalid_iris=30)
    iris = found.terms.entities.iris.to_pylist()
    assert iris == sorted({end for head, _, tail in VERSION for end in (head, tail)})
    assert found.terms.relations.iris.to_pylist() == [EX + "p0", EX + "p1", EX + "p2"]

"""Evaluation takes as much memory as it is allowed, whatever the graph and the samples are like."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import pytest
import torch

from kgsync.config import ModelSettings
from kgsync.evaluation.candidates import Candidates, ranks_among
from kgsync.evaluation.counting import (
    Counts,
    Queries,
    Vectors,
    count_all,
    count_some,
    own_scores,
)
from kgsync.evaluation.known import KnownTriples
from kgsync.evaluation.neighbors import neighbor_overlap
from kgsync.evaluation.ranking import ranks
from kgsync.evaluation.stability import change_of_few
from kgsync.graph.active import Active, TripleRows
from kgsync.graph.hashing import mix
from kgsync.models import model_class
from kgsync.models.base import Kind, Model, Rows
from kgsync.models.transe import TransE
from tests.evaluation.memory import Largest

HUB = 20_000
"""Entities; all but the first are members of it."""
FEW = 200
"""Memberships that are ranked: a copy of all members for each of them takes 32 MB."""

_Found = TypeVar("_Found")


def hub() -> tuple[Model, TripleRows]:
    """A model, and the memberships."""
    options = ModelSettings("transe", dimension=1)
    model = model_class("transe").random(options, HUB, 1, torch.Generator().manual_seed(0))
    members = np.arange(1, HUB)
    return model, np.stack([members, np.zeros_like(members), np.zeros_like(members)])


def traced(work: Callable[[], _Found]) -> tuple[_Found, int]:
    """What a piece of work finds, and the most memory that its arrays took, in bytes."""
    tracemalloc.start()
    try:
        return work(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("how", ["all", "in parts", "some"])
def test_queries_with_the_same_answers_share_them(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgsync.evaluation.counting._CANDIDATES", 1000)
    model, members = hub()
    queries, vectors = Queries.of(members[:, : 10 * FEW : 10], "head"), Vectors.of(model)
    own, some = own_scores(vectors, queries), np.arange(0, HUB, 3) if how == "some" else None

    def count(known: KnownTriples) -> Counts:
        if how == "all":
            return count_all(vectors, queries, known, 1)
        answers = known.find("head", queries.given, queries.relations)
        return count_some(vectors, queries, own, some, answers, 1)

    count(KnownTriples(members))  # compiled
    found, most = traced(lambda: count(KnownTriples(members)))
    assert most < 4 * 2**20
    # Only the first entity is not a known answer.
    first = vectors.scores(queries, vectors.candidates(np.zeros(1, np.int64)))[:, 0]
    assert np.array_equal(found.better, first > own)
    assert np.array_equal(found.equal, first == own)


def test_triples_that_are_ranked_among_candidates_share_their_answers() -> None:
    model, members = hub()
    tested, candidates = members[:, : 10 * FEW : 10], Candidates(np.arange(0, HUB, 5), HUB)
    ranks_among(model, tested[:, :2], KnownTriples(members), candidates, 1)  # compiled
    found, most = traced(lambda: ranks_among(model, tested, KnownTriples(members), candidates, 1))
    assert most < 6 * 2**20
    assert np.array_equal(found[0], ranks(model, tested, KnownTriples(members), "head", 1))


def test_candidates_are_gathered_once() -> None:
    gathered = []

    class Gathering(TransE):
        def rows(self, kind: Kind, rows: torch.Tensor | slice) -> Rows:
            found = super().rows(kind, rows)
            gathered.append(sum(len(table) for table in found.values()))
            return found

    options = ModelSettings("transe", dimension=1)
    model = Gathering.random(options, HUB, 1, torch.Generator().manual_seed(0))
    _, members = hub()
    candidates = Candidates(np.arange(0, HUB, 5), HUB)
    ranks_among(model, members[:, :FEW], KnownTriples(members), candidates, 1)
    large = [size for size in gathered if size > FEW]
    assert large == 2 * [len(candidates.rows)]  # once per side


@pytest.mark.parametrize("memory_mb", [1, 4])
def test_few_vectors_that_moved_are_compared_in_blocks(memory_mb: int) -> None:
    generator = torch.Generator().manual_seed(0)
    others = torch.randn(3000, 4, generator=generator)  # all pairs take 72 MB
    moved = others[:1500] + 0.1 * torch.randn(1500, 4, generator=generator)
    own = np.arange(1500)
    with Largest() as largest:
        found = change_of_few(moved, others[:1500], others, own, 9000, memory_mb)
    assert largest.bytes <= memory_mb * 2**20
    whole = change_of_few(moved, others[:1500], others, own, 9000, 1000)
    assert found.nmc == pytest.approx(whole.nmc, rel=1e-9)
    assert found.error == pytest.approx(whole.error, rel=1e-6)


def test_neighbors_are_looked_for_in_blocks() -> None:
    count = 20_000
    hashes = mix(np.arange(count, dtype=np.uint64))
    old = torch.randn(count, 4, generator=torch.Generator().manual_seed(0))
    new = old + 0.1 * torch.randn(count, 4, generator=torch.Generator().manual_seed(1))
    active = Active(np.arange(count, dtype=np.int32), np.empty(0, np.int32))
    versions = (old, active), (new, active)
    with Largest() as largest:
        found = neighbor_overlap(*versions, hashes, sample=300, candidates=0, memory_mb=1)
    assert largest.bytes <= 2**20
    whole = neighbor_overlap(*versions, hashes, sample=300, candidates=0, memory_mb=64)
    assert found == whole

"""Ranks that are carried over equal full ranking, whatever changes from version to version."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import kgsync.evaluation.carried_ranks as module
from kgsync.errors import TrainingError
from kgsync.evaluation.carried_ranks import CarriedRanks, RankingTask
from kgsync.evaluation.counting import count_some
from kgsync.evaluation.known import KnownTriples
from kgsync.evaluation.moved_rows import Embedded, moved_ids
from kgsync.graph.active import Active
from kgsync.graph.change import ChangeSet
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Splitter
from kgsync.models.base import Kind, Model
from tests.models.cases import EVERY_CASE, ModelCase
from tests.training.graphs import named_terms, snapshot

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

ENTITIES, RELATIONS = 90, 4


class World:
    """A graph whose vectors move a little from version to version; ids are permanent."""

    def __init__(self, case: ModelCase, seed: int, *, whole: bool) -> None:
        self.random = np.random.default_rng(seed)
        self._case, self._whole = case, whole
        # All that may ever be: elements without edges are not active.
        self._vectors = self._fresh(seed)
        count = 500
        self.edges = snapshot(
            zip(
                self.random.integers(0, ENTITIES - 10, count).tolist(),
                self.random.integers(0, RELATIONS - 1, count).tolist(),
                (ENTITIES * 0.8 * self.random.random(count) ** 2).astype(int).tolist(),
                strict=True,
            )
        )
        self.away = self.edges.where(np.zeros(len(self.edges), bool))
        """Edges that were deleted and may return."""

    def _fresh(self, seed: int) -> Model:
        model = self._case.random(ENTITIES, RELATIONS, seed=seed, dtype=torch.float32)
        if self._whole:  # so that many scores are equal
            generator = torch.Generator().manual_seed(seed)
            for table in model.tables.values():
                table.copy_(torch.randint(-1, 2, table.shape, generator=generator))
        return model

    def embedded(self) -> Embedded:
        """The vectors of the active elements."""
        active, model = Active.of(self.edges), self._vectors
        tables = {
            name: table[torch.from_numpy(self._ids(active, name)).long()].clone()
            for name, table in model.tables.items()
        }
        return Embedded(type(model)(model.settings, tables), active)

    def _ids(self, active: Active, name: str) -> np.ndarray:
        of_entities = name in self._vectors.names("entity")
        return active.entities if of_entities else active.relations

    def tested(self, embedded: Embedded, memory_mb: int = 1) -> RankingTask:
        """Most edges are tested; which ones depends on the edges alone."""
        hashes = self.edges.heads * 7 + self.edges.tails * 3 + self.edges.relations
        known = KnownTriples(self.edges, embedded.active)
        return RankingTask(embedded, self.edges, known, self.edges.where(hashes % 5 > 1), memory_mb)

    def move(self, entities: int, relations: int) -> None:
        """Give some elements other vectors; of some of them, those of another element."""
        model, other = self._vectors, self._fresh(int(self.random.integers(1000)))
        counts: dict[Kind, int] = {"entity": entities, "relation": relations}
        for kind, count in counts.items():
            rows = torch.from_numpy(self.random.choice(model.sizes[kind], count, replace=False))
            twins = torch.from_numpy(self.random.integers(0, model.sizes[kind], count))
            twin = torch.from_numpy(self.random.random(count) < 0.5)[:, None]
            for name in model.names(kind):
                table = model.tables[name]
                table[rows] = torch.where(twin, table[twins], other.tables[name][rows])

    def change(self, added: int, deleted: int, isolated: int) -> ChangeSet:
        """Edges come, go and return; some entities lose all of theirs."""
        old = self.edges
        gone = self.random.random(len(old)) < deleted / len(old)
        alone = self.random.choice(old.entities, isolated, replace=False)
        gone |= np.isin(old.heads, alone) | np.isin(old.tails, alone)
        back = self.away.where(self.random.random(len(self.away)) < 0.5)
        fresh = [self.random.integers(0, n, added) for n in (ENTITIES, RELATIONS, ENTITIES)]
        more = Snapshot.of(*(column.astype(np.int32) for column in fresh))
        self.away = self.away.plus(old.where(gone)).minus(back)
        self.edges = old.where(~gone).plus(back).plus(more)
        every = named_terms(snapshot([(ENTITIES - 1, RELATIONS - 1, ENTITIES - 1)]))
        return ChangeSet.between(old, self.edges, every, Splitter(0.0, 0.0))


def _same(found: CarriedRanks, expected: CarriedRanks) -> None:
    assert found.triples == expected.triples
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(found.arrays()[name], array, err_msg=name)
    np.testing.assert_array_equal(found.ranks, expected.ranks)


@pytest.fixture
def in_full(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Counts how often everything is ranked for want of anything better."""
    calls = []
    of = CarriedRanks.of.__func__  # type: ignore[attr-defined]

    def counted(cls: type[CarriedRanks], tested: RankingTask) -> CarriedRanks:
        calls.append(tested)
        found: CarriedRanks = of(cls, tested)
        return found

    monkeypatch.setattr(CarriedRanks, "of", classmethod(counted))
    return lambda: len(calls)


@every_model
@pytest.mark.parametrize("whole", [False, True], ids=["real", "ties"])
def test_ranks_carried_over_are_those_of_full_ranking(
    case: ModelCase, whole: bool, in_full: Callable[[], int]
) -> None:
    world = World(case, 1, whole=whole)
    old = world.embedded()
    ranks = CarriedRanks.of(world.tested(old))
    full = in_full()
    for added, deleted, isolated, moved, relations in (
        (0, 0, 0, 3, 0),
        (4, 4, 0, 0, 0),
        (6, 3, 2, 5, 0),
        (6, 3, 1, 4, 1),
        (5, 5, 3, 6, 0),
        (0, 0, 0, 0, 0),
    ):
        change = world.change(added, deleted, isolated)
        world.move(moved, relations)
        new = world.embedded()
        expected = CarriedRanks.of(world.tested(new))
        full += 1
        kept = CarriedRanks.from_arrays(ranks.arrays())
        assert kept is not None
        ranks = kept.update(world.tested(new), old, change)
        assert in_full() == full, "nothing was carried over"
        _same(ranks, expected)
        old = new


def test_both_models_of_a_step_are_ranked_from_the_version_before() -> None:
    world = World(EVERY_CASE[0], 2, whole=True)
    old = world.embedded()
    ranks = CarriedRanks.of(world.tested(old))
    change = world.change(3, 3, 1)
    for _ in range(3):
        world.move(4, 0)
        new = world.embedded()
        found = ranks.update(world.tested(new), old, change)
        _same(found, CarriedRanks.of(world.tested(new)))


def test_everything_is_ranked_if_most_vectors_have_moved(in_full: Callable[[], int]) -> None:
    world = World(EVERY_CASE[0], 3, whole=False)
    old = world.embedded()
    ranks, change = CarriedRanks.of(world.tested(old)), world.change(0, 0, 0)
    world.move(ENTITIES - 5, 0)
    full = in_full()
    found = ranks.update(world.tested(world.embedded()), old, change)
    assert in_full() == full + 1
    _same(found, CarriedRanks.of(world.tested(world.embedded())))


def test_counts_made_with_other_rounding_are_not_carried_over() -> None:
    world = World(EVERY_CASE[0], 4, whole=False)
    old = world.embedded()
    kept, change = CarriedRanks.of(world.tested(old)).arrays(), world.change(2, 2, 0)
    kept["own"] = np.nextafter(kept["own"], np.float32(np.inf))
    kept["better"] = kept["better"] + 1
    ranks = CarriedRanks.from_arrays(kept)
    assert ranks is not None
    found = ranks.update(world.tested(world.embedded()), old, change)
    _same(found, CarriedRanks.of(world.tested(world.embedded())))


@pytest.mark.parametrize("row", [0, 40])
def test_a_vector_that_is_not_a_number_is_found(row: int) -> None:
    world = World(EVERY_CASE[0], 5, whole=False)
    old = world.embedded()
    ranks, change = CarriedRanks.of(world.tested(old)), world.change(0, 0, 0)
    new = world.embedded()
    new.model.tables["entity"][row, 0] = torch.nan
    with pytest.raises(TrainingError, match="NaN"):
        ranks.update(world.tested(new), old, change)


def test_few_scores_are_computed_if_few_vectors_have_moved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(EVERY_CASE[0], 6, whole=False)
    old = world.embedded()
    ranks, change = CarriedRanks.of(world.tested(old)), world.change(0, 0, 0)
    world.move(2, 0)
    compared = []

    def seen(vectors, queries, own, candidates, *rest):  # type: ignore[no-untyped-def]
        compared.append((len(queries), None if candidates is None else len(candidates)))
        return count_some(vectors, queries, own, candidates, *rest)

    monkeypatch.setattr(module, "count_some", seen)
    ranks.update(world.tested(world.embedded()), old, change)
    whole = sum(queries for queries, candidates in compared if candidates is None)
    assert whole < len(ranks.triples) / 2  # those of the entities that moved
    assert {n for _, n in compared if n is not None} <= {0, 1, 2}


def test_rows_that_moved_are_found_to_the_bit() -> None:
    world = World(EVERY_CASE[0], 7, whole=False)
    old, new = world.embedded(), world.embedded()
    entities = new.active.entities
    new.model.tables["entity"][3, 1] = 0.0
    old.model.tables["entity"][3, 1] = -0.0
    new.model.tables["entity"][5, 0] = torch.nan
    assert moved_ids(old, new, "entity").tolist() == entities[[3, 5]].tolist()
    assert moved_ids(new, new, "entity").tolist() == []
    assert moved_ids(old, new, "relation").tolist() == []

"""False triples for new elements: false, on the right side, from survivors, keyed by element."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.models.base import Kind
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.initial.order import NewElement
from tests.training.graphs import Triple, as_rows, as_triples
from tests.training.newcomers import evidence, negatives

both_kinds = pytest.mark.parametrize("kind", ["entity", "relation"])


def _drawn(draws: KeyedNegatives, given: Evidence, count: int, epoch: int) -> list[list[Triple]]:
    """By draw, the false triples; all must have been found."""
    false = draws.draw(given, count, epoch)
    assert bool(false.possible.all())
    return [as_triples(false.triples[:, draw]) for draw in range(count)]


@st.composite
def _newcomers(
    draw: st.DrawFn,
) -> tuple[Kind, dict[int, list[Triple]], list[Triple], list[int]]:
    """Triples of new elements of one kind, all training triples, and the survivors."""
    kind: Kind = draw(st.sampled_from(("entity", "relation")))
    old, row = st.integers(0, 4), st.integers(0, 7)
    if kind == "entity":  # rows 5, 6 and 7 are new
        sides = st.sampled_from(((0, 2), (2, 0)))
        new = draw(st.lists(st.sampled_from((5, 6, 7)), min_size=1, unique=True))
        triples = {}
        for v in new:
            ends = draw(
                st.lists(
                    st.tuples(sides, st.integers(0, 1), old), min_size=1, max_size=6, unique=True
                )
            )
            triples[v] = [(v, r, e) if side == (0, 2) else (e, r, v) for side, r, e in ends]
    else:  # relations 0 and 1 are new
        new = draw(st.lists(st.sampled_from((0, 1)), min_size=1, unique=True))
        ends_of = st.lists(st.tuples(row, row), min_size=1, max_size=12, unique=True)
        triples = {r: [(h, r, t) for h, t in draw(ends_of)] for r in new}
    others = draw(st.lists(st.tuples(row, st.integers(0, 1), row), max_size=40))
    train = list({*others, *(triple for some in triples.values() for triple in some)})
    return kind, triples, train, draw(st.lists(old, unique=True).map(sorted))


@given(
    world=_newcomers(),
    count=st.integers(1, 3),
    epoch=st.integers(0, 60),
    seed=st.integers(0, 2**63 - 1),
)
@settings(deadline=None, max_examples=200)
def test_draws_are_false_and_found_wherever_there_are_any(
    world: tuple[Kind, dict[int, list[Triple]], list[Triple], list[int]],
    count: int,
    epoch: int,
    seed: int,
) -> None:
    kind, triples, train, survivors = world
    given_ = evidence(kind, triples)
    draws = negatives(train, survivors, entities=8, relations=2, seed=seed)
    false = draws.draw(given_, count, epoch)
    asked = [(row, triple) for row, some in triples.items() for triple in some]
    for draw in range(count):
        for at, (row, (h, r, t)) in enumerate(asked):
            heads, tails = [(e, r, t) for e in survivors], [(h, r, e) for e in survivors]
            by_side = tails if h == row else heads
            choices = {*heads, *tails} if kind == "relation" else set(by_side)
            choices -= set(train)
            assert bool(false.possible[draw, at]) is bool(choices)
            if choices:
                assert as_triples(false.triples[:, draw])[at] in choices


@given(
    world=_newcomers(),
    count=st.integers(1, 3),
    epoch=st.integers(0, 60),
    data=st.data(),
)
@settings(deadline=None)
def test_draws_do_not_depend_on_who_else_is_there(
    world: tuple[Kind, dict[int, list[Triple]], list[Triple], list[int]],
    count: int,
    epoch: int,
    data: st.DataObject,
) -> None:
    kind, triples, train, survivors = world
    draws = negatives(train, survivors, entities=8, relations=2)
    together = draws.draw(evidence(kind, triples), count, epoch)
    some = data.draw(st.lists(st.sampled_from(list(triples)), min_size=1, unique=True))
    apart = draws.draw(evidence(kind, {row: triples[row] for row in some}), count, epoch)
    owners = [row for row, own in triples.items() for _ in own]
    columns = [at for row in some for at, owner in enumerate(owners) if owner == row]
    possible = together.possible[:, columns]
    assert possible.equal(apart.possible)
    mask = possible.numpy()
    np.testing.assert_array_equal(together.triples[:, :, columns][:, mask], apart.triples[:, mask])


def test_elements_that_have_stopped_do_not_change_the_draws_of_the_others() -> None:
    triples = {5: [(5, 0, 1), (5, 0, 2)], 6: [(6, 0, 1)], 7: [(3, 0, 7), (7, 0, 0)]}
    given_ = evidence("entity", triples)
    draws = negatives([], range(5), entities=8, relations=1)
    left = given_.where(np.isin(given_.owner, [0, 2]))
    assert as_triples(left.triples) == [*triples[5], *triples[7]]
    assert left.row.tolist() == [5, 5, 7, 7]
    everyone, rest = draws.draw(given_, 2, 4).triples, draws.draw(left, 2, 4).triples
    np.testing.assert_array_equal(everyone[:, :, [0, 1, 3, 4]], rest)


def test_every_survivor_is_drawn_alike() -> None:
    survivors = [1, 3, 4, 8, 9]
    given_ = evidence("entity", {20: [(20, 0, 1), (3, 1, 20)]})
    draws = negatives([(20, 0, 1)], survivors, entities=21, relations=2)
    tails: Counter[int] = Counter()
    heads: Counter[int] = Counter()
    for epoch in range(4000):
        ((_, _, tail), (head, _, _)) = _drawn(draws, given_, 1, epoch)[0]
        tails[tail] += 1
        heads[head] += 1
    assert set(tails) == {3, 4, 8, 9}  # (20, 0, 1) is true
    assert set(heads) == set(survivors)
    for found, expected in ((tails, 1000), (heads, 800)):
        chi_square = sum((n - expected) ** 2 / expected for n in found.values())
        assert chi_square < 20


def test_heads_and_tails_of_a_new_relation_are_replaced_equally_often() -> None:
    draws = negatives([], range(10, 60), entities=60, relations=1)
    given_ = evidence("relation", {0: [(0, 0, 1)]})
    drawn = [triple for d in _drawn(draws, given_, 4000, 0) for triple in d]
    heads = sum(head != 0 for head, _, _ in drawn)
    assert heads / len(drawn) == pytest.approx(0.5, abs=0.03)
    assert all((head == 0) != (tail == 1) for head, _, tail in drawn)


@both_kinds
def test_epochs_draws_triples_elements_and_seeds_all_draw_anew(kind: Kind) -> None:
    """On a thousand entities a draw that comes twice would be no accident."""
    if kind == "entity":
        triples = {row: [(row, 0, 1), (row, 1, 1)] for row in (1000, 1001)}
    else:
        triples = {row: [(0, row, 1), (2, row, 3)] for row in (0, 1)}
    given_ = evidence(kind, triples)
    seen = set()
    for seed in (0, 1):
        draws = negatives([], range(1000), entities=1002, relations=2, seed=seed)
        for epoch in range(3):
            false = draws.draw(given_, 3, epoch)
            replaced = false.triples != given_.triples[:, None, :]
            chosen = np.where(replaced, false.triples, 0).sum(0)
            seen |= {(int(entity), seed, epoch) for entity in chosen.reshape(-1)}
    assert len({entity for entity, _, _ in seen}) > 60  # of 2 · 3 · 3 · 4 = 72


def test_the_only_false_triple_of_a_dense_query_is_drawn() -> None:
    survivors = list(range(300))
    train = [(e, 0, 300) for e in survivors if e != 77] + [(5, 0, e) for e in survivors]
    draws = negatives(train, survivors, entities=301, relations=1)
    assert _drawn(draws, evidence("entity", {300: [(9, 0, 300)]}), 3, 0) == [[(77, 0, 300)]] * 3
    # Of the relation's triple (5, 0, 300) all tails are taken, so a head must be replaced.
    assert _drawn(draws, evidence("relation", {0: [(5, 0, 300)]}), 5, 0) == [[(77, 0, 300)]] * 5


def test_the_few_false_triples_of_a_dense_query_are_drawn_alike() -> None:
    survivors, free = list(range(300)), (7, 150, 299)
    train = [(e, 0, 300) for e in survivors if e not in free]
    draws = negatives(train, survivors, entities=301, relations=1)
    drawn = _drawn(draws, evidence("entity", {300: [(9, 0, 300)]}), 900, 0)
    counts = Counter(head for ((head, _, _),) in drawn)
    assert set(counts) == set(free)
    assert sum((n - 300) ** 2 / 300 for n in counts.values()) < 14


@both_kinds
def test_a_dense_graph_has_nothing_to_draw(kind: Kind) -> None:
    train = [(h, 0, t) for h in range(4) for t in range(4)]
    draws = negatives(train, [0, 1, 2], entities=4, relations=1)
    row, triple = (3, (3, 0, 1)) if kind == "entity" else (0, (1, 0, 2))
    false = draws.draw(evidence(kind, {row: [triple]}), 2, 0)
    assert not false.possible.any()


@both_kinds
def test_without_survivors_there_is_nothing_to_draw(kind: Kind) -> None:
    draws = negatives([(0, 0, 1)], [], entities=2, relations=1)
    false = draws.draw(evidence(kind, {0: [(0, 0, 1)]}), 1, 0)
    assert not false.possible.any()


def test_evidence_lists_the_informative_triples_of_each_element_in_turn() -> None:
    train = as_rows([(0, 0, 1), (2, 0, 1), (2, 1, 0), (0, 1, 2)])
    first = NewElement("entity", 2, np.array([1, 3]), depth=1)
    second = NewElement("entity", 0, np.array([2]), depth=2)
    given_ = Evidence.of("entity", [first, second], train)
    assert given_.rows.tolist() == [2, 0]
    assert as_triples(given_.triples) == [(2, 0, 1), (0, 1, 2), (2, 1, 0)]
    assert given_.owner.tolist() == [0, 0, 1]
    assert given_.number.tolist() == [0, 1, 0]
    assert given_.row.tolist() == [2, 2, 0]


@pytest.mark.parametrize(
    ("limit", "rows"), [(1, [[5], [6], [7]]), (3, [[5, 6], [7]]), (9, [[5, 6, 7]])]
)
def test_blocks_have_about_so_many_triples_and_never_divide_an_element(
    limit: int, rows: list[list[int]]
) -> None:
    triples = {5: [(5, 0, 1), (5, 0, 2)], 6: [(6, 0, 1)], 7: [(3, 0, 7), (7, 0, 0)]}
    blocks = list(evidence("entity", triples).blocks(limit))
    assert [block.rows.tolist() for block in blocks] == rows
    for block in blocks:
        alone = evidence("entity", {row: triples[row] for row in block.rows.tolist()})
        assert as_triples(block.triples) == as_triples(alone.triples)
        assert block.owner.tolist() == alone.owner.tolist()
        assert block.number.tolist() == alone.number.tolist()

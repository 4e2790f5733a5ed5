"""The order of initialisation against a literal transcription of alg. TDSM_init."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kgsync.training.initial.order import NewElement, initialization_order
from tests.training.graphs import Triple, as_rows, as_triples
from tests.training.slow_order import Placed, slow_order

Graph = tuple[list[Triple], list[int], list[int]]
"""Training triples, new entities and new relations, the latter two in the order of their IRIs."""


@st.composite
def _graphs(draw: st.DrawFn) -> Graph:
    """Dense and sparse ones, with self-loops, and elements that no training triple has."""
    entities, relations = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    row = st.integers(0, entities - 1)
    triple = st.tuples(row, st.integers(0, relations - 1), row)
    train = draw(st.lists(triple, max_size=24, unique=True))
    new_entities = draw(st.permutations(range(entities + 1)))
    new_relations = draw(st.permutations(range(relations + 1)))
    some, others = draw(st.integers(0, entities + 1)), draw(st.integers(0, relations + 1))
    return train, new_entities[:some], new_relations[:others]


def _order(
    train: Sequence[Triple], entities: Sequence[int], relations: Sequence[int]
) -> list[NewElement]:
    new = (np.array(rows, np.int64) for rows in (entities, relations))
    return initialization_order(as_rows(train), *new)


def _placed(train: Sequence[Triple], order: list[NewElement]) -> list[Placed]:
    columns = as_rows(train)
    return [(e.kind, e.row, set(as_triples(columns[:, e.informative]))) for e in order]


@given(graph=_graphs())
@settings(deadline=None, max_examples=250)
def test_order_and_informative_triples_are_those_of_the_algorithm(graph: Graph) -> None:
    train, entities, relations = graph
    order = _order(train, entities, relations)
    assert _placed(train, order) == slow_order(train, entities, relations)
    assert all(len(set(e.informative.tolist())) == len(e.informative) for e in order)


@given(graph=_graphs())
@settings(deadline=None)
def test_depth_is_one_more_than_that_of_the_deepest_element_used(graph: Graph) -> None:
    train, entities, relations = graph
    depths: dict[tuple[str, int], int] = {}
    for element in _order(train, entities, relations):
        used = [as_triples(as_rows(train))[column] for column in element.informative]
        terms = {(kind, row) for h, r, t in used for kind, row in _terms(h, r, t)}
        others = terms - {(element.kind, element.row)}
        # What an element is made of has left the queue before it, or is old.
        new = {("entity", v) for v in entities} | {("relation", r) for r in relations}
        assert others & new <= set(depths)
        deepest = max((depths.get(other, 0) for other in others), default=0)
        assert element.depth == (1 + deepest if used else 0)
        depths[element.kind, element.row] = element.depth


def _terms(h: int, r: int, t: int) -> list[tuple[str, int]]:
    return [("entity", h), ("relation", r), ("entity", t)]


def test_a_chain_of_new_entities_is_followed_from_its_old_end() -> None:
    train = [(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 4)]
    order = _order(train, [4, 3, 2, 1], [])
    assert [(e.row, e.depth, e.informative.tolist()) for e in order] == [
        (1, 1, [0]),
        (2, 2, [1]),
        (3, 3, [2]),
        (4, 4, [3]),
    ]


def test_a_triple_of_three_new_terms_serves_the_last_of_them() -> None:
    # Entities 1 and 2 and relation 1 are new; 1 and 2 have a triple of their own each.
    train = [(0, 0, 1), (0, 0, 2), (1, 1, 2)]
    order = _order(train, [1, 2], [1])
    assert _placed(train, order) == [
        ("entity", 1, {(0, 0, 1)}),
        ("entity", 2, {(0, 0, 2)}),
        ("relation", 1, {(1, 1, 2)}),
    ]
    assert [e.depth for e in order] == [1, 1, 2]


def test_few_uninformative_triples_go_before_many_informative_ones() -> None:
    # 50 has one informative triple and none else: 1 / ε. 51 has 50 and one open: 50 / (1 + ε).
    train = [(0, 0, 50), *((e, 0, 51) for e in range(50)), (51, 0, 52)]
    order = _order(train, [51, 50, 52], [])
    assert [e.row for e in order] == [50, 51, 52]


def test_ties_go_to_relations_and_then_by_iri() -> None:
    train = [(0, 0, 9), (0, 0, 8), (0, 3, 1), (0, 2, 1)]
    order = _order(train, [9, 8], [3, 2])
    assert [(e.kind, e.row) for e in order] == [
        ("relation", 3),
        ("relation", 2),
        ("entity", 9),
        ("entity", 8),
    ]


def test_a_self_loop_tells_its_relation_about_it_but_not_its_entity() -> None:
    train = [(0, 0, 1), (1, 1, 1)]
    assert _placed(train, _order(train, [1], [1])) == [
        ("entity", 1, {(0, 0, 1)}),
        ("relation", 1, {(1, 1, 1)}),
    ]
    assert _placed(train[1:], _order(train[1:], [1], [])) == [("entity", 1, set())]


def test_triples_that_hang_on_no_old_element_place_nobody() -> None:
    """To the letter: what an element without evidence leaves behind is informative for nobody."""
    train = [(5, 0, 6), (7, 1, 8), (8, 1, 7)]
    order = _order(train, [5, 6, 7, 8], [1])
    assert [(e.kind, e.row) for e in order] == [
        ("relation", 1),
        ("entity", 5),
        ("entity", 6),
        ("entity", 7),
        ("entity", 8),
    ]
    assert all(len(e.informative) == e.depth == 0 for e in order)


@given(graph=_graphs())
@settings(deadline=None)
def test_whoever_knows_something_goes_before_those_who_never_will(graph: Graph) -> None:
    known = [len(e.informative) > 0 for e in _order(*graph)]
    assert known == sorted(known, reverse=True)


def test_elements_in_no_training_triple_come_last_and_know_nothing() -> None:
    order = _order([(0, 0, 1)], [3, 1], [4])
    assert [(e.kind, e.row, len(e.informative), e.depth) for e in order] == [
        ("entity", 1, 1, 1),
        ("relation", 4, 0, 0),
        ("entity", 3, 0, 0),
    ]


def test_nothing_new_needs_no_order() -> None:
    assert _order([(0, 0, 1)], [], []) == []
    assert _order([], [], []) == []


def test_no_training_triples_leave_every_new_element_unplaced() -> None:
    order = _order([], [2, 0], [1])
    assert [(e.kind, e.row) for e in order] == [("relation", 1), ("entity", 2), ("entity", 0)]


def _calls(size: int) -> int:
    """Function calls for a graph in which everything new hangs together, with one hub."""
    random = np.random.default_rng(0)
    ring = [(v, v % 5, (v + 1) % size) for v in range(size)]
    chords = [(v, 7, int(w)) for v, w in enumerate(random.integers(0, size, size))]
    hub = [(v, 6, size) for v in range(size)]
    known = [(size + 1, 0, 0)]
    train = as_rows([*ring, *chords, *hub, *known])
    count = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    new = np.arange(size + 1), np.array([6])
    sys.setprofile(note)
    try:
        order = initialization_order(train, *new)
    finally:
        sys.setprofile(None)
    assert len(order) == size + 2
    return count


def test_work_grows_with_the_number_of_triples() -> None:
    small, large = _calls(500), _calls(4000)
    assert large < 1.25 * 8 * small

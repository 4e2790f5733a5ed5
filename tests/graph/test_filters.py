"""The edge filter against a slow one in plain Python."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kgsync.graph.filters import EdgeFilter
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import TermIndex
from tests.graph.graphs import EX, Edge, as_edges, edge_sets, edges, examples, index, snapshot

PREDICATES = [EX + name for name in ("p", "q", "größe", "a", "unknown")]
predicate_lists = st.lists(st.sampled_from(PREDICATES), max_size=3).map(tuple)


def slow_filter(
    version: frozenset[Edge], rule: EdgeFilter
) -> tuple[frozenset[Edge], dict[str, int]]:
    by_predicate = {
        (s, p, o)
        for s, p, o in version
        if (not rule.include or p in rule.include) and p not in rule.exclude
    }
    kept = by_predicate
    while True:
        entity = Counter(iri for s, _, o in kept for iri in {s, o})
        relation = Counter(p for _, p, _ in kept)
        strong = {
            (s, p, o)
            for s, p, o in kept
            if min(entity[s], entity[o], relation[p]) >= rule.min_degree
        }
        if strong == kept:
            break
        kept = strong
    dropped = {
        "excluded_predicates": len(version) - len(by_predicate),
        "below_min_degree": len(by_predicate) - len(kept),
    }
    return frozenset(kept), dropped


def filtered(version: frozenset[Edge], rule: EdgeFilter) -> frozenset[Edge]:
    terms = index(version)
    kept, _ = rule.apply(snapshot(version, terms), terms)
    return as_edges(kept, terms)


@examples(100)
@given(edge_sets, predicate_lists, predicate_lists, st.integers(0, 5))
@example(edges("a p a", "a p b", "b p a"), (), (), 2)
def test_the_filter_keeps_what_a_slow_one_keeps(
    version: frozenset[Edge], include: tuple[str, ...], exclude: tuple[str, ...], min_degree: int
) -> None:
    rule = EdgeFilter(include, exclude, min_degree)
    terms = index(version)
    kept, dropped = rule.apply(snapshot(version, terms), terms)
    assert (as_edges(kept, terms), dropped) == slow_filter(version, rule)


def test_without_rules_nothing_is_dropped() -> None:
    version = edges("a p b", "b q c")
    terms = index(version)
    kept, dropped = EdgeFilter().apply(snapshot(version, terms), terms)
    assert as_edges(kept, terms) == version
    assert dropped == {"excluded_predicates": 0, "below_min_degree": 0}


@pytest.mark.parametrize(
    ("include", "exclude", "kept"),
    [
        (("p",), (), edges("a p b")),
        ((), ("p",), edges("a q b", "a r b")),
        (("p", "q"), ("q",), edges("a p b")),
        (("unknown",), (), frozenset()),
        ((), ("unknown",), edges("a p b", "a q b", "a r b")),
    ],
)
def test_predicates_are_included_then_excluded(
    include: tuple[str, ...], exclude: tuple[str, ...], kept: frozenset[Edge]
) -> None:
    version = edges("a p b", "a q b", "a r b")
    rule = EdgeFilter(tuple(EX + p for p in include), tuple(EX + p for p in exclude))
    assert filtered(version, rule) == kept


def test_a_tail_of_weak_entities_unravels_to_its_end() -> None:
    triangle = edges("a p b", "b p c", "c p a")
    tail = edges("c p d", "d p e", "e p f", "f p g")
    assert filtered(triangle | tail, EdgeFilter(min_degree=2)) == triangle


def test_a_self_loop_is_one_edge_of_its_entity() -> None:
    version = edges("a p a", "b p c", "c p b")
    assert filtered(version, EdgeFilter(min_degree=2)) == edges("b p c", "c p b")


def test_a_rare_relation_takes_its_edges_along() -> None:
    version = edges("a p b", "b p a", "a rare b")
    assert filtered(version, EdgeFilter(min_degree=2)) == edges("a p b", "b p a")


def test_nothing_may_be_left() -> None:
    assert filtered(edges("a p b", "c q d"), EdgeFilter(min_degree=2)) == frozenset()


def test_an_empty_version_can_be_filtered() -> None:
    rule = EdgeFilter((EX + "p",), (), 3)
    kept, dropped = rule.apply(Snapshot.empty(), TermIndex())
    assert len(kept) == sum(dropped.values()) == 0

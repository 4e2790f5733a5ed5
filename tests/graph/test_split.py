"""The split: a function of the three IRIs and the key, of nothing else."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.graph.split import Part, Splitter
from tests.graph.graphs import (
    EX,
    Edge,
    as_edges,
    edge_list,
    edge_sets,
    edges,
    examples,
    index,
    snapshot,
)

_64_BITS = (1 << 64) - 1


def slow_part(edge: Edge, key: bytes, splitter: Splitter) -> Part:
    """The split of one edge in whole numbers: BLAKE2b of each IRI, chained by SplitMix64."""
    state = 0
    for iri in edge:
        digest = hashlib.blake2b(iri.encode(), digest_size=8, key=key).digest()
        state = (state ^ int.from_bytes(digest, "little")) + 0x9E3779B97F4A7C15 & _64_BITS
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & _64_BITS
        state = (state ^ state >> 27) * 0x94D049BB133111EB & _64_BITS
        state ^= state >> 31
    position = (state >> 11) / 2**53
    if position < splitter.validation:
        return Part.VALIDATION
    return Part.TEST if position < splitter.validation + splitter.test else Part.TRAIN


def parts_by_edge(
    version: frozenset[Edge], *history: frozenset[Edge], splitter: Splitter, key: bytes = b"k"
) -> dict[Edge, Part]:
    """The part of each edge of a version, under an index that has met `history` first."""
    terms = index(*history, version, key=key)
    triples = snapshot(version, terms)
    parts = (Part(part) for part in splitter.parts(triples, terms))
    return dict(zip(edge_list(triples, terms), parts, strict=True))


@examples(60)
@given(edge_sets, st.binary(max_size=16), st.floats(0, 0.5), st.floats(0, 0.5))
def test_the_split_is_the_documented_hash(
    version: frozenset[Edge], key: bytes, validation: float, test: float
) -> None:
    splitter = Splitter(validation, test)
    found = parts_by_edge(version, splitter=splitter, key=key)
    assert found == {edge: slow_part(edge, key, splitter) for edge in version}


@examples(60)
@given(edge_sets, edge_sets, edge_sets)
def test_a_returning_triple_keeps_its_split(
    version: frozenset[Edge], meanwhile: frozenset[Edge], before: frozenset[Edge]
) -> None:
    splitter = Splitter(0.3, 0.3)
    first = parts_by_edge(version, splitter=splitter)
    assert parts_by_edge(version, version, meanwhile, splitter=splitter) == first
    # An index grown in another order gives other ids, and the same parts.
    assert parts_by_edge(version, before, meanwhile, splitter=splitter) == first


def test_the_split_of_known_edges_never_changes_between_releases() -> None:
    version = edges(*(f"s{number} p o{number}" for number in range(12)))
    found = parts_by_edge(version, splitter=Splitter(0.25, 0.25), key=b"kgsync")
    by_number = {int(s.removeprefix(EX + "s")): part for (s, _, _), part in found.items()}
    assert "".join(by_number[number].name[1] for number in range(12)) == "RERERRRAEEAA"


@pytest.mark.parametrize(("validation", "test"), [(0.1, 0.1), (0.05, 0.2), (0.0, 0.3), (0.3, 0.0)])
def test_the_parts_are_about_as_large_as_asked(validation: float, test: float) -> None:
    version = [(f"{EX}{i % 700}", f"{EX}p{i % 7}", f"{EX}o{i}") for i in range(20_000)]
    terms = index(version, key=b"k")
    triples = snapshot(version, terms)
    splitter = Splitter(validation, test)
    split = splitter.split(triples, terms)
    # Five standard deviations of the widest share here.
    assert len(split.validation) / 20_000 == pytest.approx(validation, abs=0.017)
    assert len(split.test) / 20_000 == pytest.approx(test, abs=0.017)
    assert split.train.plus(split.validation).plus(split.test) == triples
    assert sum(split.sizes().values()) == 20_000


def test_the_shares_hold_within_one_entity_and_one_relation() -> None:
    version = [(EX + "hub", EX + "p", f"{EX}o{i}") for i in range(10_000)]
    terms = index(version, key=b"k")
    sizes = Splitter(0.1, 0.1).split(snapshot(version, terms), terms).sizes()
    assert sizes["validation"] == pytest.approx(1000, abs=150)
    assert sizes["test"] == pytest.approx(1000, abs=150)


def test_direction_matters_to_the_split() -> None:
    forth = [(f"{EX}a{i}", EX + "p", f"{EX}b{i}") for i in range(200)]
    back = [(o, p, s) for s, p, o in forth]
    found = parts_by_edge(frozenset(forth + back), splitter=Splitter(0.3, 0.3))
    assert [found[edge] for edge in forth] != [found[edge] for edge in back]


def test_another_key_gives_another_split() -> None:
    version = frozenset((f"{EX}a{i}", EX + "p", f"{EX}b{i}") for i in range(200))
    splitter = Splitter(0.3, 0.3)
    one = parts_by_edge(version, splitter=splitter, key=b"one")
    assert parts_by_edge(version, splitter=splitter, key=b"two") != one


def test_without_shares_everything_is_trained_on() -> None:
    version = edges("a p b", "b p c")
    terms = index(version)
    split = Splitter(0, 0).split(snapshot(version, terms), terms)
    assert as_edges(split.train, terms) == version
    assert split.sizes() == {"train": 2, "validation": 0, "test": 0}
    assert Splitter(0, 0).parts(split.train, terms).dtype == np.uint8

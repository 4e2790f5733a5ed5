"""Ids of IRIs: given once, never changed."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.graph.hashing import keyed_hashes
from kgsync.graph.terms import TermIndex, TermTable
from tests.graph.graphs import EX, edge_sets, edges, examples, index

iri_lists = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(lambda name: EX + name),
    max_size=12,
)


def table(*iris: str) -> TermTable:
    return TermTable().extended(pa.array(iris, pa.string()), b"")


@examples(80)
@given(st.lists(iri_lists, max_size=5))
def test_ids_never_change_and_new_terms_are_sorted(steps: list[list[str]]) -> None:
    known, order = TermTable(), []
    for iris in steps:
        before = known.iris.to_pylist()
        known = known.extended(pa.array(iris, pa.string()), b"key")
        order += sorted(set(iris) - set(before))
        assert known.iris.to_pylist() == order
        assert len(known.hashes) == len(known) == len(order)
    assert known.ids(pa.array(order, pa.string())).tolist() == list(range(len(order)))
    assert np.array_equal(known.hashes, keyed_hashes(known.iris, b"key"))


@examples(50)
@given(edge_sets, edge_sets)
def test_entities_and_relations_keep_their_ids_apart(
    old: frozenset[tuple[str, str, str]], new: frozenset[tuple[str, str, str]]
) -> None:
    before, after = index(old), index(old, new)
    for was, now in ((before.entities, after.entities), (before.relations, after.relations)):
        assert now.iris.to_pylist()[: len(was)] == was.iris.to_pylist()
        assert np.array_equal(now.hashes[: len(was)], was.hashes)
    assert after.sizes == (
        len({iri for s, _, o in old | new for iri in (s, o)}),
        len({p for _, p, _ in old | new}),
    )


def test_new_terms_are_sorted_by_code_point() -> None:
    known = table("b", "z", "ä", "😀", "\uffee", "B")
    assert known.iris.to_pylist() == ["B", "b", "z", "ä", "\uffee", "😀"]


def test_extending_by_known_terms_changes_nothing() -> None:
    known = table("a", "b")
    assert known.extended(pa.array(["b", "a", "b"]), b"") is known


def test_unknown_terms_have_no_id() -> None:
    known = table("a", "b")
    assert known.ids(pa.array(["b", "x", "a"])).tolist() == [1, -1, 0]
    assert known.id("b") == 1
    assert known.id("x") is None
    assert TermTable().id("a") is None


def test_one_iri_after_the_other_is_found_as_the_first_was() -> None:
    names = [f"{EX}{number * 7 % 1000}ä" for number in range(1000)]
    iris = pa.array(["before", *names, "after"])[1:-1]
    known = TermTable(iris)
    assert [known.id(name) for name in names] == list(range(1000))
    assert [known.id(name) for name in ("before", "after", "", EX, EX + "7", "\ud800")] == [
        None
    ] * 6
    assert [known.id(name) for name in reversed(names)] == list(range(999, -1, -1))
    empty = TermTable()
    assert {empty.id(name) for name in names[:50]} == {None}


def test_iris_with_the_same_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kgsync.graph.terms.hash", len, raising=False)
    names = [f"{EX}{number:03}" for number in range(100)]
    known = TermTable(pa.array(names))
    assert [known.id(name) for name in names] == list(range(100))
    assert [known.id(f"{EX}{number}") for number in range(100, 130)] == [None] * 30


def test_names_are_the_inverse_of_ids() -> None:
    known = table("a", "b", "c")
    assert known.names(known.ids(pa.array(["c", "a"]))).to_pylist() == ["c", "a"]
    assert known.name(2) == "c"


def test_hashes_are_keyed_blake2b_on_every_machine() -> None:
    digest = hashlib.blake2b("http://example.org/ä".encode(), digest_size=8, key=b"k").digest()
    hashes = keyed_hashes(pa.array([EX + "ä"]), b"k")
    assert hashes.dtype == np.uint64
    assert hashes.tolist() == [int.from_bytes(digest, "little")]


def test_another_key_keeps_the_ids_and_changes_the_hashes() -> None:
    terms = index(edges("a p b"), key=b"one")
    other = terms.keyed(b"two")
    assert other.entities.iris.equals(terms.entities.iris)
    assert not (other.entities.hashes == terms.entities.hashes).any()
    assert np.array_equal(other.keyed(b"one").relations.hashes, terms.relations.hashes)
    assert terms.keyed(b"one") is terms


def test_an_empty_index_can_be_given_another_key() -> None:
    assert TermIndex().keyed(b"key").extended(pa.array(["a"]), pa.array(["p"])).sizes == (1, 1)


def test_a_mistyped_iri_is_answered_with_the_nearest_living_ones() -> None:
    known = table(EX + "Berlin", EX + "Bern", EX + "Paris", EX + "Berlin_Wall")
    everything = np.arange(len(known), dtype=np.int32)
    assert known.similar("http://example.org/berlim", everything)[0] == EX + "Berlin"
    dead = known.id(EX + "Berlin")
    assert EX + "Berlin" not in known.similar(EX + "Berlim", everything[everything != dead])
    assert known.similar("", everything) == []


def test_similar_names_are_found_among_many() -> None:
    known = table(*(f"{EX}city{number}" for number in range(6000)), EX + "Berlin")
    everything = np.arange(len(known), dtype=np.int32)
    assert known.similar(EX + "Berlim", everything) == [EX + "Berlin"]

"""Change sets against plain Python sets."""

from __future__ import annotations

import operator
from functools import reduce

import numpy as np
import pytest
from hypothesis import given

from kgsync.errors import KgsyncError
from kgsync.graph.change import ChangeCounts, ChangeSet
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Part, Splitter
from kgsync.graph.terms import TermIndex
from tests.graph.graphs import EX, Edge, as_edges, edge_sets, edges, examples, index, snapshot

SPLITTER = Splitter(0.3, 0.3)


def entities(triples: frozenset[Edge]) -> set[str]:
    return {iri for s, _, o in triples for iri in (s, o)}


def relations(triples: frozenset[Edge]) -> set[str]:
    return {p for _, p, _ in triples}


def between(old: frozenset[Edge], new: frozenset[Edge]) -> tuple[ChangeSet, TermIndex]:
    terms = index(old, new, key=b"k")
    change = ChangeSet.between(snapshot(old, terms), snapshot(new, terms), terms, SPLITTER)
    return change, terms


@examples(80)
@given(edge_sets, edge_sets)
def test_applying_a_change_leads_to_the_new_version(
    old: frozenset[Edge], new: frozenset[Edge]
) -> None:
    change, terms = between(old, new)
    assert change.apply(snapshot(old, terms)) == snapshot(new, terms)


@examples(80)
@given(edge_sets, edge_sets)
def test_the_six_sets_are_set_differences(old: frozenset[Edge], new: frozenset[Edge]) -> None:
    change, terms = between(old, new)
    assert as_edges(change.added_triples, terms) == new - old
    assert as_edges(change.deleted_triples, terms) == old - new
    found = {
        "added entities": terms.entities.names(change.added_entities).to_pylist(),
        "deleted entities": terms.entities.names(change.deleted_entities).to_pylist(),
        "added relations": terms.relations.names(change.added_relations).to_pylist(),
        "deleted relations": terms.relations.names(change.deleted_relations).to_pylist(),
    }
    assert {what: sorted(iris) for what, iris in found.items()} == {
        "added entities": sorted(entities(new) - entities(old)),
        "deleted entities": sorted(entities(old) - entities(new)),
        "added relations": sorted(relations(new) - relations(old)),
        "deleted relations": sorted(relations(old) - relations(new)),
    }
    assert bool(change) == (old != new)


@examples(40)
@given(edge_sets, edge_sets)
def test_each_part_is_the_difference_of_that_part_of_the_versions(
    old: frozenset[Edge], new: frozenset[Edge]
) -> None:
    change, terms = between(old, new)
    before = SPLITTER.split(snapshot(old, terms), terms)
    after = SPLITTER.split(snapshot(new, terms), terms)
    versions = zip(
        Part,
        (before.train, before.validation, before.test),
        (after.train, after.validation, after.test),
        strict=True,
    )
    for part, was, now in versions:
        added, deleted = change.part(part)
        assert as_edges(added, terms) == as_edges(now, terms) - as_edges(was, terms)
        assert as_edges(deleted, terms) == as_edges(was, terms) - as_edges(now, terms)
        assert change.counts().added_triples[part] == len(added)
        assert change.counts().deleted_triples[part] == len(deleted)
    parts = [change.part(part)[0] for part in Part]
    assert reduce(operator.add, map(len, parts)) == len(change.added_triples)


@examples(40)
@given(edge_sets, edge_sets)
def test_the_inverse_leads_back(old: frozenset[Edge], new: frozenset[Edge]) -> None:
    change, terms = between(old, new)
    a, b = snapshot(old, terms), snapshot(new, terms)
    assert change.inverse() == ChangeSet.between(b, a, terms, SPLITTER)
    assert change.inverse().apply(b) == a
    assert change.inverse().inverse() == change


@examples(40)
@given(edge_sets, edge_sets)
def test_a_saved_change_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, old: frozenset[Edge], new: frozenset[Edge]
) -> None:
    change, terms = between(old, new)
    path = tmp_path_factory.getbasetemp() / "change.parquet"
    change.save(path, terms)
    loaded = ChangeSet.load(path, terms)
    assert loaded == change
    # Over an index grown in another order the ids differ and the change is the same.
    other = index(new, old, key=b"k")
    again = ChangeSet.load(path, other)
    expected = ChangeSet.between(snapshot(old, other), snapshot(new, other), other, SPLITTER)
    assert again == expected


def test_a_change_is_not_loaded_over_an_index_that_lacks_its_terms(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    change, terms = between(edges("a p b"), edges("a p c"))
    path = tmp_path_factory.mktemp("change") / "change.parquet"
    change.save(path, terms)
    with pytest.raises(KgsyncError, match=r"change\.parquet contains terms"):
        ChangeSet.load(path, index(edges("a p b")))


def test_a_change_is_not_applied_to_a_version_it_does_not_belong_to() -> None:
    old, new = edges("a p b", "b p c"), edges("a p b", "c p a")
    change, terms = between(old, new)
    for stranger in (edges("a p b"), new, old | new):
        with pytest.raises(KgsyncError, match="does not belong"):
            change.apply(snapshot(stranger, terms))


def test_a_change_between_equal_versions_is_false_and_empty() -> None:
    version = edges("a p b")
    change, terms = between(version, version)
    assert not change
    assert change.apply(snapshot(version, terms)) == snapshot(version, terms)
    assert sum(added + deleted for _, added, deleted in change.counts().rows()) == 0


def test_an_entity_that_only_changes_its_place_is_neither_new_nor_gone() -> None:
    change, _ = between(edges("a p b"), edges("b p a"))
    assert len(change.added_entities) == len(change.deleted_entities) == 0
    assert change


def test_unequal_changes_are_unequal() -> None:
    terms = index(edges("a p b", "a p c"))
    one, two = (snapshot(edges(text), terms) for text in ("a p b", "a p c"))
    nothing = Snapshot.empty()
    change = ChangeSet.between(nothing, one, terms, SPLITTER)
    assert change != ChangeSet.between(nothing, two, terms, SPLITTER)
    assert change != ChangeSet.between(one, nothing, terms, SPLITTER)
    assert change != "a change"


def test_counts_survive_json_and_print_every_set() -> None:
    counts = ChangeCounts((3, 2, 1), (0, 0, 1), 4, 5, 6, 7)
    data = {key: list(v) if isinstance(v, tuple) else v for key, v in vars(counts).items()}
    assert ChangeCounts.from_json(data) == counts
    assert counts.rows() == [
        ("triples", 6, 1),
        ("  train", 3, 0),
        ("  validation", 2, 0),
        ("  test", 1, 1),
        ("entities", 4, 5),
        ("relations", 6, 7),
    ]
    assert [line.split() for line in str(counts).splitlines()][1] == ["triples", "6", "1"]


def test_a_change_prints_its_counts() -> None:
    change, _ = between(edges("a p b"), edges("a p b", "a q c"))
    assert str(change) == str(change.counts())


def test_the_table_of_a_change_is_keyed_by_iri() -> None:
    change, terms = between(edges("a p b"), edges("a q b"))
    rows = change.to_table(terms).to_pylist()
    kinds = [(row["change"], row["kind"], row["head"]) for row in rows]
    assert kinds == [
        ("added", "triple", EX + "a"),
        ("deleted", "triple", EX + "a"),
        ("added", "relation", EX + "q"),
        ("deleted", "relation", EX + "p"),
    ]
    parts = np.concatenate([change.added_parts, change.deleted_parts]).tolist()
    assert [row["part"] for row in rows] == [*parts, None, None]

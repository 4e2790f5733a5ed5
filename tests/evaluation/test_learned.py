"""What was learned and forgotten: ranks among candidates, and groups of triples that persist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from kgsync.config import ModelSettings
from kgsync.errors import TrainingError
from kgsync.evaluation.candidates import Candidates, ranks_among
from kgsync.evaluation.counting import SIDES
from kgsync.evaluation.learned import change_groups, learned
from kgsync.evaluation.ranking import KnownTriples, ranks, standard_error
from kgsync.evaluation.unchanged_sample import UnchangedSample
from kgsync.graph.active import Active, TripleRows
from kgsync.graph.change import ChangeSet
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Split, Splitter
from kgsync.graph.terms import TermIndex
from kgsync.models import model_class
from kgsync.models.base import Model

ENTITIES, RELATIONS = 60, 3
TERMS = TermIndex(b"key").extended(
    pa.array([f"http://example.org/e{i}" for i in range(ENTITIES)]),
    pa.array([f"http://example.org/r{i}" for i in range(RELATIONS)]),
)
SPLITTER = Splitter(0.1, 0.2)


def model_of(name: str, seed: int = 0) -> Model:
    """Vectors of small whole numbers, so that many scores tie."""
    settings = ModelSettings(name, dimension=3)
    generator = torch.Generator().manual_seed(seed)
    sizes = {"entity": ENTITIES, "relation": RELATIONS}
    tables = {
        table: torch.randint(-2, 3, (sizes[spec.kind], spec.width), generator=generator).float()
        for table, spec in model_class(name).layout(settings).items()
    }
    return model_class(name)(settings, tables)


def graph_of(count: int, seed: int) -> Snapshot:
    random = np.random.default_rng(seed)
    sizes = ENTITIES, RELATIONS, ENTITIES
    return Snapshot.of(*(random.integers(0, size, count).astype(np.int32) for size in sizes))


@dataclass(frozen=True)
class Version:
    active: Active
    split: Split
    terms: TermIndex
    known: KnownTriples

    @classmethod
    def of(cls, edges: Snapshot) -> Version:
        active = Active.of(edges)
        known = KnownTriples(active.rows(edges))
        return cls(active, SPLITTER.split(edges, TERMS), TERMS, known)


def changed(count: int = 20) -> tuple[Snapshot, Snapshot, ChangeSet]:
    """A graph, the same with other triples in place of some, and the change."""
    old, other = graph_of(400, 1), graph_of(count, 2)
    gone = np.zeros(len(old), bool)
    gone[np.random.default_rng(3).choice(len(old), count, replace=False)] = True
    new = old.where(~gone).plus(other)
    return old, new, ChangeSet.between(old, new, TERMS, SPLITTER)


def plain_ranks(
    model: Model, triples: TripleRows, edges: set[tuple[int, ...]], rivals: set[int]
) -> list[list[float]]:
    """The definition, one score at a time."""

    def score(h: int, r: int, t: int) -> float:
        parts = (model.rows(k, torch.tensor([i])) for k, i in KINDS(h, r, t))
        return float(model.score(*parts))

    def KINDS(h: int, r: int, t: int) -> list[tuple]:  # type: ignore[type-arg]  # noqa: N802
        return [("entity", h), ("relation", r), ("entity", t)]

    found: list[list[float]] = [[], []]
    for h, r, t in triples.T.tolist():
        for side in (0, 1):
            true = (h, t)[side]
            own = score(h, r, t)
            asked = [(e, r, t) if side == 0 else (h, r, e) for e in rivals - {true}]
            others = [score(*each) for each in asked if each not in edges]
            better = sum(s > own for s in others)
            found[side].append(1 + better + sum(s == own for s in others) / 2)
    return found


@pytest.mark.parametrize("name", ["transe", "distmult", "rescal"])
@pytest.mark.parametrize("size", [0, 20])
def test_ranks_among_candidates_are_their_definition(name: str, size: int) -> None:
    model, edges = model_of(name), graph_of(300, 1)
    version = Version.of(edges)
    candidates = Candidates.of(TERMS.entities.hashes[version.active.entities], size)
    assert len(candidates.rows) == (size or ENTITIES)
    known, unknown = version.active.rows(edges)[:, :30], graph_of(30, 9)
    triples = np.concatenate([known, version.active.rows(unknown)], axis=1)
    found = ranks_among(model, triples, version.known, candidates, 256)
    every = {tuple(each) for each in version.active.rows(edges).T.tolist()}
    assert found.tolist() == plain_ranks(model, triples, every, set(candidates.rows.tolist()))


def test_ranks_among_all_entities_are_those_of_link_prediction() -> None:
    model, version = model_of("transe"), Version.of(graph_of(300, 1))
    triples = version.active.rows(version.split.test)
    everything = Candidates.of(TERMS.entities.hashes, 0)
    found = ranks_among(model, triples, version.known, everything, 256)
    for row, side in enumerate(SIDES):
        assert np.array_equal(found[row], ranks(model, triples, version.known, side, 256))


def test_blocks_do_not_change_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    model, version = model_of("distmult"), Version.of(graph_of(300, 1))
    triples = version.active.rows(version.split.test)
    some = Candidates.of(TERMS.entities.hashes, 10)
    whole = ranks_among(model, triples, version.known, some, 256)
    monkeypatch.setattr("kgsync.evaluation.candidates._QUERIES", 3)
    assert np.array_equal(ranks_among(model, triples, version.known, some, 256), whole)


def test_a_score_that_is_no_number_is_an_error() -> None:
    model, version = model_of("distmult"), Version.of(graph_of(300, 1))
    model.tables["entity"][0, 0] = torch.nan
    everything = Candidates.of(TERMS.entities.hashes, 0)
    with pytest.raises(TrainingError, match="NaN"):
        ranks_among(model, version.active.rows(version.split.test), version.known, everything, 256)


def test_candidates_persist_when_entities_come_and_go() -> None:
    hashes = TERMS.entities.hashes
    all_, fewer = np.arange(ENTITIES), np.arange(5, ENTITIES)
    before = set(all_[Candidates.of(hashes, 20).rows].tolist())
    after = set(fewer[Candidates.of(hashes[fewer], 20).rows].tolist())
    assert before - after <= set(range(5))
    assert len(after) == 20


def test_the_groups_of_a_change_are_what_they_are_called() -> None:
    _, new, change = changed()
    version = Version.of(new)
    groups = change_groups(version, change, 0)
    split, added = version.split, set(zip(*change.added_triples.columns, strict=True))
    sets = {name: set(zip(*g.triples.columns, strict=True)) for name, g in groups.items()}
    train, test = (set(zip(*part.columns, strict=True)) for part in (split.train, split.test))
    validation = set(zip(*split.validation.columns, strict=True))
    assert sets["added"] == train & added
    assert sets["unchanged"] == train - added
    assert sets["unseen"] == validation | test
    assert sets["near"] | sets["elsewhere"] == test
    assert not sets["near"] & sets["elsewhere"]
    assert sets["deleted"] == set(
        zip(*change.part(0)[1].columns, strict=True)  # type: ignore[arg-type]
    )
    assert all(len(g.triples) == g.available for g in groups.values())
    touched = {e for h, _, t in added for e in (h, t)}
    touched |= set(change.deleted_triples.heads) | set(change.deleted_triples.tails)
    degree = np.bincount([e for h, _, t in train for e in (h, t)], minlength=ENTITIES)
    for name, is_near in (("near", True), ("elsewhere", False)):
        for h, _, t in sets[name]:
            assert ((h if degree[h] <= degree[t] else t) in touched) == is_near
    assert sets["near"]
    assert sets["elsewhere"]


def test_a_deleted_triple_without_its_terms_is_not_ranked() -> None:
    old = graph_of(400, 1)
    new = old.where((old.heads != 7) & (old.tails != 7))
    change = ChangeSet.between(old, new, TERMS, SPLITTER)
    assert len(change.part(0)[1])  # type: ignore[arg-type]
    assert len(change_groups(Version.of(new), change, 0)["deleted"].triples) == 0


def test_samples_are_bounded_and_persist() -> None:
    old, new, change = changed()
    before = change_groups(Version.of(old), change.inverse(), 30)
    after = change_groups(Version.of(new), change, 30)
    for name in ("unchanged", "unseen"):
        first, then = before[name].triples, after[name].triples
        # Of those that are still there, few were pushed out by new ones with smaller hashes.
        assert len(first.within(then)) >= len(first.within(new)) - len(change.added_triples)
        assert len(first.within(then)) > len(first) // 2
    assert all(len(group.triples) <= 30 for group in after.values())
    assert after["unchanged"].available == len(Version.of(new).split.train) - len(
        change.part(0)[0]  # type: ignore[arg-type]
    )


def test_the_sample_of_unchanged_triples_persists_while_a_graph_grows() -> None:
    size, count = 3, 700
    all_, terms = wide_graph(count), wide_terms(count)
    before = None
    for end in range(size, count, 7):
        train = Snapshot(*(column[:end] for column in all_.columns))
        none, active = Snapshot.empty(), Active.of(train)
        version = Version(active, Split(train, none, none), terms, KnownTriples(active.rows(train)))
        change = ChangeSet.between(train, train, terms, Splitter(0.0, 0.0))
        found = change_groups(version, change, size)["unchanged"].triples
        assert len(found) == size
        if before is not None:
            # One that was pushed out made place for one of the seven new triples.
            come = found.minus(before)
            assert len(come.within(Snapshot(*(c[end - 7 :] for c in train.columns)))) == len(come)
        before = found


@pytest.mark.parametrize("share", [0.01, 0.6])
def test_the_sample_of_unchanged_triples_follows_from_the_change(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    size, count = 5, 1500
    all_, terms = wide_graph(count), wide_terms(count)
    random = np.random.default_rng(1)
    here = random.random(count) < 0.5
    edges, passes = all_.where(here), []
    sample = UnchangedSample.of(edges, terms, size)
    of = UnchangedSample.of.__func__  # type: ignore[attr-defined]

    def counted(cls: type[UnchangedSample], *given: Any) -> UnchangedSample:
        passes.append(given)
        found: UnchangedSample = of(cls, *given)
        return found

    for _ in range(40):
        turned = random.random(count) < share
        here ^= turned
        new = all_.where(here)
        change = ChangeSet.between(edges, new, terms, Splitter(0.0, 0.0))
        with monkeypatch.context() as patched:
            patched.setattr(UnchangedSample, "of", classmethod(counted))
            sample = sample.next(new, change, terms)
        added = change.added_triples
        anew = UnchangedSample.of(new, terms, size, len(added)).without(added, terms)
        assert sample.without(added, terms) == anew
        assert len(anew) == size
        edges = new
    assert len(passes) < 8


def wide_graph(count: int) -> Snapshot:
    """Triples of as many entities."""
    entities = np.arange(count, dtype=np.int32)
    return Snapshot(entities, np.zeros_like(entities), entities[::-1].copy())


def wide_terms(count: int) -> TermIndex:
    return TermIndex(b"key").extended(
        pa.array([f"http://example.org/e{i}" for i in range(count)]),
        pa.array(["http://example.org/r"]),
    )


def test_deleted_triples_that_still_rank_high_are_counted_and_named() -> None:
    _, new, change = changed(40)
    model, version = model_of("transe"), Version.of(new)
    found = learned(model, version, change, sample=0, candidates=0)
    deleted = change_groups(version, change, 0)["deleted"].triples
    every = {tuple(each) for each in version.active.rows(new).T.tolist()}
    rows = version.active.rows(deleted)
    ranked = np.array(plain_ranks(model, rows, every, set(range(ENTITIES))))
    high = ranked.min(axis=0) <= 10
    group = found.groups["deleted"]
    assert 0 < group.top_10 == high.sum() < len(deleted) == group.triples
    assert group.mrr == pytest.approx((1 / ranked).mean())
    assert group.mrr_error == 0
    best = sorted(ranked.min(axis=0)[high])[: len(found.still_ranked)]
    assert [min(each.head_rank, each.tail_rank) for each in found.still_ranked] == best
    entity, relation = TERMS.entities.name, TERMS.relations.name
    names = {(entity(h), relation(r), entity(t)) for h, r, t in zip(*deleted.columns, strict=True)}
    told = {(each.head, each.relation, each.tail) for each in found.still_ranked}
    assert told <= names
    assert len(told) == 5


def test_a_report_says_what_it_was_ranked_among() -> None:
    _, new, change = changed()
    found = learned(model_of("transe"), Version.of(new), change, sample=9, candidates=25)
    assert (found.candidates, found.entities) == (25, ENTITIES)
    assert {quality.triples for quality in found.groups.values()} <= set(range(10))
    unchanged = found.groups["unchanged"]
    assert unchanged.triples == 9
    assert unchanged.sampled_from > 9
    assert unchanged.mrr_error > 0
    plain = found.to_json()
    assert plain["groups"]["unchanged"]["mrr_error"] == unchanged.mrr_error


def test_a_version_without_any_such_triple_has_no_groups() -> None:
    edges = graph_of(50, 1)
    none = Snapshot.empty()
    version = Version.of(edges)
    empty = Version(version.active, Split(none, none, none), TERMS, version.known)
    change = ChangeSet.between(edges, edges, TERMS, SPLITTER)
    assert learned(model_of("transe"), empty, change, sample=9, candidates=0).groups == {}


def test_the_standard_error_is_that_of_a_sample() -> None:
    values = np.array([0.0, 1.0, 0.5, 0.5])
    assert standard_error(values, 4) == 0
    assert standard_error(values, 9) == pytest.approx(np.std(values, ddof=1) / 2)
    assert standard_error(values[:1], 2) == float("inf")

"""Versions of a static graph that change by given shares."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kgsync.errors import ConfigError
from kgsync.snapshots.changing import Changing, changing_versions
from kgsync.snapshots.facts import Facts
from tests.snapshots.files import names, static

SHARES = (0.01, 0.05, 0.2, 0.01)


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    """A graph of 100 entities and 4 relations in which each has many edges."""
    random = np.random.default_rng(5)
    triples = random.integers(0, (100, 4, 100), (4000, 3))
    return static(tmp_path, [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples.tolist()])


def test_changes_are_as_large_as_asked_for(facts: Facts) -> None:
    versions = [version.edges for version in changing_versions(facts, Changing(SHARES, start=0.7))]
    for share, (before, after) in zip(SHARES, pairwise(versions), strict=True):
        added, deleted = len(after.minus(before)), len(before.minus(after))
        assert added == pytest.approx(0.6 * share * len(before), abs=1)
        assert deleted == pytest.approx(0.4 * share * len(before), abs=1)
        assert not len(after.minus(facts.snapshot()))


def test_new_entities_arrive_with_their_triples(facts: Facts) -> None:
    how = Changing((0.1,) * 4, hidden=0.1, by_new_entities=0.5)
    versions = [version.edges for version in changing_versions(facts, how)]
    sizes = [len(edges.entities) for edges in versions]
    assert sizes[0] <= 90
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def test_a_graph_can_only_grow(facts: Facts) -> None:
    how = Changing((0.35,) * 3, added=1.0, start=0.3, hidden=0.0)
    for before, after in pairwise(changing_versions(facts, how)):
        assert not len(before.edges.minus(after.edges))
        assert len(after.edges) == pytest.approx(1.35 * len(before.edges), abs=1)


def test_a_version_does_not_depend_on_how_many_follow(facts: Facts) -> None:
    four, two = (list(changing_versions(facts, Changing(SHARES[:n], seed=3))) for n in (4, 2))
    assert [names(v) for v in four[:3]] == [names(v) for v in two]
    other = list(changing_versions(facts, Changing(SHARES[:2], seed=4)))
    assert all(names(a) != names(b) for a, b in zip(two, other, strict=True))


@pytest.mark.parametrize(
    "how", [Changing(()), Changing((0.0,)), Changing((0.1,), added=1.5), Changing((0.1,), start=0)]
)
def test_impossible_numbers_are_refused(facts: Facts, how: Changing) -> None:
    with pytest.raises(ConfigError):
        changing_versions(facts, how)

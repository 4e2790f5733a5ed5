"""Synthetic versions: laws on small graphs, and the sizes the paper reports for FB15K."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kgsync.errors import ConfigError
from kgsync.snapshots.facts import Facts
from kgsync.snapshots.plain import read_static
from kgsync.snapshots.synthetic import synthetic_versions
from kgsync.snapshots.version import BuiltVersion
from tests.snapshots.files import NAMING, names, static


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    """A graph of 40 entities and 4 relations in which each has many edges."""
    random = np.random.default_rng(5)
    triples = random.integers(0, (40, 4, 40), (900, 3))
    return static(tmp_path, [(f"e{h}", f"r{r}", f"e{t}") for h, r, t in triples.tolist()])


def test_a_version_is_a_sample_of_the_elements_and_of_the_triples_among_them(
    facts: Facts,
) -> None:
    whole = facts.snapshot()
    for version in synthetic_versions(facts, 10, elements=0.75, share=0.5, seed=1):
        edges = version.edges
        assert not len(edges.minus(whole))
        assert len(edges.relation_ids) <= 3
        assert len(edges.entities) <= 30
        left_out = np.setdiff1d(whole.entities, edges.entities)
        if len(edges.relation_ids) == 3 and len(left_out) == 10:
            usable = np.isin(whole.relations, edges.relation_ids)
            usable &= ~np.isin(whole.heads, left_out) & ~np.isin(whole.tails, left_out)
            assert len(edges) == round(usable.sum() / 2)
            break
    else:
        pytest.fail("no version shows all elements it may use")


def test_everything_is_the_whole_graph(facts: Facts) -> None:
    for version in synthetic_versions(facts, 2, elements=1.0, share=1.0):
        assert version.edges == facts.snapshot()


def test_a_version_depends_on_the_seed_and_its_number_alone(facts: Facts) -> None:
    ten = [names(version) for version in synthetic_versions(facts, 10, seed=3)]
    three = [names(version) for version in synthetic_versions(facts, 3, seed=3)]
    assert ten[:3] == three
    assert len({frozenset(version) for version in ten}) == 10
    other = [names(version) for version in synthetic_versions(facts, 3, seed=4)]
    assert all(a != b for a, b in zip(three, other, strict=True))


def test_every_kind_of_change_occurs(facts: Facts) -> None:
    built = list(synthetic_versions(facts, 10, elements=0.75, share=0.9))
    for old, new in pairwise(built):
        assert len(new.edges.minus(old.edges))
        assert len(old.edges.minus(new.edges))
    for which in ("entities", "relation_ids"):
        sets = [set(getattr(version.edges, which).tolist()) for version in built]
        assert any(new - old for old, new in pairwise(sets))
        assert any(old - new for old, new in pairwise(sets))


@pytest.mark.parametrize(
    ("versions", "elements", "share", "seed"),
    [(0, 0.9, 0.9, 0), (2, 0.0, 0.9, 0), (2, 0.9, 1.5, 0), (2, 0.9, 0.9, -1)],
)
def test_impossible_numbers_are_refused_at_once(
    facts: Facts, versions: int, elements: float, share: float, seed: int
) -> None:
    with pytest.raises(ConfigError):
        synthetic_versions(facts, versions, elements, share, seed)


@pytest.fixture(scope="module")
def fb15k(real_data: Path) -> Facts:
    files = [real_data / "fb15k" / f"{part}.txt.gz" for part in ("train", "valid", "test")]
    if not all(file.is_file() for file in files):
        pytest.skip("the FB15K files are not among the real data")
    return read_static(files, NAMING)


@pytest.fixture(scope="module")
def versions(fb15k: Facts) -> list[BuiltVersion]:
    return list(synthetic_versions(fb15k))


def test_fb15k_is_read_completely(fb15k: Facts) -> None:
    assert len(fb15k) == len(fb15k.snapshot()) == 592_213
    assert fb15k.terms.sizes == (14_951, 1_345)


def mean_sizes(versions: list[BuiltVersion]) -> list[float]:
    """Mean number of triples, relations and entities."""
    sizes = [(len(v.edges), len(v.edges.relation_ids), len(v.edges.entities)) for v in versions]
    return [float(mean) for mean in np.mean(sizes, axis=0)]


def test_fb15k_versions_have_the_expected_sizes(versions: list[BuiltVersion]) -> None:
    assert len(versions) == 20
    triples, _, _ = mean_sizes(versions)
    assert triples == pytest.approx(552_000, rel=0.01)


def test_the_papers_means_are_those_before_triples_are_sampled(fb15k: Facts) -> None:
    triples, relations, entities = mean_sizes(list(synthetic_versions(fb15k, share=1.0)))
    assert triples == pytest.approx(582_995, rel=0.005)
    assert relations == pytest.approx(1_336, abs=1.5)
    assert entities == pytest.approx(14_874, abs=2)


def test_fb15k_steps_have_the_expected_sizes(versions: list[BuiltVersion]) -> None:
    added = [len(new.edges.minus(old.edges)) for old, new in pairwise(versions)]
    deleted = [len(old.edges.minus(new.edges)) for old, new in pairwise(versions)]
    # The mean over the 19 rows of the paper's table is 36,063; a row is between 33,364 and 42,969.
    assert np.mean(added) == pytest.approx(36_063, rel=0.06)
    assert np.mean(deleted) == pytest.approx(36_063, rel=0.06)
    assert min(added) > 30_000
    assert max(added) < 45_000
    new_entities = [
        len(np.setdiff1d(new.edges.entities, old.edges.entities)) for old, new in pairwise(versions)
    ]
    assert np.mean(new_entities) == pytest.approx(76, abs=4)


def test_a_large_version_comes_in_pieces(versions: list[BuiltVersion]) -> None:
    pieces = list(versions[0].ntriples())
    assert len(pieces) == 3
    assert sum(piece.count(" .\n") for piece in pieces) == len(versions[0].edges)
    assert len(set(pieces[0].splitlines())) == 250_000

"""The sliding window against a slow one in plain Python."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.errors import ConfigError
from kgsync.snapshots.window import sliding_window
from tests.graph.graphs import examples
from tests.snapshots.files import Timed, names, static, timed

fact_lists: st.SearchStrategy[list[Timed]] = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from("pq"), st.sampled_from("abcd"), st.integers(0, 9)
    ),
    min_size=4,
    max_size=40,
)


@examples(60)
@given(fact_lists, st.integers(1, 6), st.sampled_from([0.25, 0.5, 0.75, 1.0]))
def test_windows_are_those_of_a_slow_slide(facts: list[Timed], versions: int, share: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        built = list(sliding_window(timed(Path(folder), facts), versions, share))
    ordered = sorted(facts, key=lambda fact: fact[3])
    size = int(len(facts) * share)
    starts = [round(k * (len(facts) - size) / versions) for k in range(versions)]
    expected = [{fact[:3] for fact in ordered[start : start + size]} for start in starts]
    assert [names(version) for version in built] == expected
    assert [version.name for version in built] == [str(k) for k in range(versions)]


def test_facts_of_one_time_stay_in_the_order_of_their_source(tmp_path: Path) -> None:
    facts = [(f"e{i}", "p", "x", 7) for i in range(10)]
    first, second = sliding_window(timed(tmp_path, facts), versions=2, share=0.5)
    assert {head for head, _, _ in names(first)} == {f"e{i}" for i in range(5)}
    assert {head for head, _, _ in names(second)} == {f"e{i}" for i in range(2, 7)}


def test_repeated_facts_are_one_triple_and_self_loops_stay(tmp_path: Path) -> None:
    facts = [("a", "p", "a", 1), ("a", "p", "a", 2), ("b", "p", "a", 3), ("c", "p", "a", 4)]
    (version,) = sliding_window(timed(tmp_path, facts), versions=1, share=0.75)
    assert names(version) == {("a", "p", "a"), ("b", "p", "a")}


def test_a_version_is_issued_when_its_last_fact_was_known(tmp_path: Path) -> None:
    facts = [("a", "p", "b", 86_400 * day) for day in range(4)]
    (version,) = sliding_window(timed(tmp_path, facts), versions=1, share=0.5)
    assert version.issued == "1970-01-02T00:00:00Z"
    assert "facts 1 to 2 of 4" in version.title


def test_a_triple_that_leaves_the_window_may_return(tmp_path: Path) -> None:
    facts = [("a", "p", "b", 1), ("c", "p", "d", 2), ("a", "p", "b", 3), ("e", "p", "f", 4)]
    built = list(sliding_window(timed(tmp_path, facts), versions=3, share=0.25))
    assert [names(version) for version in built] == [
        {("a", "p", "b")},
        {("c", "p", "d")},
        {("a", "p", "b")},
    ]


def test_the_minimum_degree_is_of_the_whole_graph_and_iterated(tmp_path: Path) -> None:
    ring = [(f"e{i}", "p", f"e{(i + 1) % 4}", i) for i in range(4)]
    tail = [("e0", "p", "t1", 10), ("t1", "p", "t2", 11), ("e1", "rare", "e2", 12)]
    facts = timed(tmp_path, [*ring, *tail]).with_min_degree(2)
    (version,) = sliding_window(facts, versions=1, share=1.0)
    assert names(version) == {fact[:3] for fact in ring}
    # Inside the first window no entity has two edges: they have them in the whole graph.
    first, _ = sliding_window(facts, versions=2, share=0.5)
    assert names(first) == {ring[0][:3], ring[1][:3]}


@pytest.mark.parametrize(("versions", "share"), [(0, 0.5), (20, 0.0), (20, 1.1), (20, 0.1)])
def test_impossible_numbers_are_refused_at_once(
    tmp_path: Path, versions: int, share: float
) -> None:
    facts = timed(tmp_path, [("a", "p", "b", 1), ("b", "p", "c", 2)])
    with pytest.raises(ConfigError):
        sliding_window(facts, versions, share)


def test_facts_without_times_have_no_window(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="needs facts with times"):
        sliding_window(static(tmp_path, [("a", "p", "b")]))


def test_a_minimum_degree_that_leaves_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="minimum degree of 9"):
        timed(tmp_path, [("a", "p", "b", 1)]).with_min_degree(9)

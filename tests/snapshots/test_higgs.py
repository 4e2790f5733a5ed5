"""The Higgs data: when a follow edge begins, and who is dropped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kgsync.errors import ConfigError
from kgsync.snapshots.higgs import read_higgs
from kgsync.snapshots.window import sliding_window
from tests.snapshots.files import NAMING, names, write

ACTIVITY = ("1 2 100 MT", "2 3 90 RT", "1 2 120 MT", "4 4 200 RE")
FOLLOWS = ("1 2", "2 1", "3 4", "4 1", "1 5", "5 6", "2 3")


def higgs(folder: Path, suffix: str = "") -> Path:
    write(folder / f"higgs-activity_time.txt{suffix}", *ACTIVITY)
    write(folder / f"higgs-social_network.edgelist{suffix}", *FOLLOWS)
    return folder


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_follow_edge_has_the_earlier_first_activity_of_its_users(
    tmp_path: Path, suffix: str
) -> None:
    facts = read_higgs(higgs(tmp_path, suffix), NAMING)
    assert facts.times is not None
    # First activity: 1 at 100, 2 and 3 at 90, 4 at 200; 5 and 6 never.
    assert facts.times.tolist() == [100, 90, 120, 200, 90, 90, 90, 100, 90]
    (version,) = sliding_window(facts, versions=1, share=1.0)
    assert names(version) == {
        ("1", "MT", "2"),
        ("2", "RT", "3"),
        ("4", "RE", "4"),
        ("1", "follows", "2"),
        ("2", "follows", "1"),
        ("3", "follows", "4"),
        ("4", "follows", "1"),
        ("2", "follows", "3"),
    }
    assert version.issued == "1970-01-01T00:03:20Z"


def test_times_are_those_of_a_slow_computation(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    activity = [
        (int(a), int(b), int(t), kind)
        for (a, b, t), kind in zip(
            random.integers(0, (60, 60, 1_000), (80, 3)),
            random.choice(["RT", "MT"], 80),
            strict=True,
        )
    ]
    follows = [(int(a), int(b)) for a, b in random.integers(0, 90, (400, 2))]
    write(tmp_path / "higgs-activity_time.txt", *(" ".join(map(str, row)) for row in activity))
    write(tmp_path / "higgs-social_network.edgelist", *(f"{a} {b}" for a, b in follows))
    first: dict[int, int] = {}
    for a, b, time, _ in activity:
        for user in (a, b):
            first[user] = min(time, first.get(user, time))
    expected = [time for _, _, time, _ in activity]
    expected += [min(first[a], first[b]) for a, b in follows if a in first and b in first]
    facts = read_higgs(tmp_path, NAMING)
    assert facts.times is not None
    assert facts.times.tolist() == expected
    assert len(facts.terms.entities) == len(first)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write(tmp_path / "higgs-activity_time.txt", *ACTIVITY)
    with pytest.raises(ConfigError, match=r"no file higgs-social_network\.edgelist"):
        read_higgs(tmp_path, NAMING)

"""MathOverflow 2_20_0.5_0: the table of the paper's supplement, every row; its split is another."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kgsync.graph.change import ChangeSet
from kgsync.graph.split import Splitter
from kgsync.snapshots.plain import read_timed
from kgsync.snapshots.version import BuiltVersion
from kgsync.snapshots.window import sliding_window
from tests.snapshots.files import NAMING

SPLITTER = Splitter(validation=0.05, test=0.05)

# Added and deleted triples by training, validation and test set, then added and deleted entities.
PAPER = """
6232 6256 378 328 326 368 605 277
6149 5534 367 288 347 300 670 229
6130 5552 320 302 329 295 607 220
6044 6062 349 325 345 343 625 247
6447 6112 354 312 336 349 722 264
6119 6101 332 314 351 337 742 246
5624 6327 326 359 294 370 701 323
5797 6205 329 332 316 334 744 328
5786 6039 320 334 327 333 710 282
6004 6001 329 333 334 337 779 292
5898 6039 321 377 307 330 717 345
5747 6432 301 350 319 353 703 387
5807 6574 312 324 330 343 702 396
5496 6126 307 334 303 358 680 468
5677 6115 319 350 311 348 690 464
5638 6322 322 348 307 342 676 465
5749 6145 314 351 312 308 793 502
5556 6337 316 336 328 360 631 500
5755 6196 281 327 329 343 735 530
"""


@pytest.fixture(scope="module")
def versions(real_data: Path) -> list[BuiltVersion]:
    files = [
        real_data / "mathoverflow" / f"sx-mathoverflow-{relation}.txt.gz"
        for relation in ("a2q", "c2q", "c2a")
    ]
    if not all(file.is_file() for file in files):
        pytest.skip("the MathOverflow files are not among the real data")
    return list(sliding_window(read_timed(files, NAMING)))


@pytest.fixture(scope="module")
def changes(versions: list[BuiltVersion]) -> list[ChangeSet]:
    terms = versions[0].terms.keyed(b"kgsync")
    return [
        ChangeSet.between(old.edges, new.edges, terms, SPLITTER) for old, new in pairwise(versions)
    ]


def test_all_rows_of_the_papers_table_are_reproduced(changes: list[ChangeSet]) -> None:
    found = []
    for change in changes:
        counts = change.counts()
        assert counts.added_relations == counts.deleted_relations == 0
        triples = sum(counts.added_triples), sum(counts.deleted_triples)
        found.append((*triples, counts.added_entities, counts.deleted_entities))
    assert found == [(s + w + t, ds + dw + dt, v, dv) for s, ds, w, dw, t, dt, v, dv in paper()]


def test_the_mean_size_is_the_papers(versions: list[BuiltVersion]) -> None:
    assert len(versions) == 20
    sizes = [len(version.edges) for version in versions]
    assert sum(sizes) / 20 == 143_378.05
    # The table's captions round the mean of each part down.
    assert 129_083 + 7_177 + 7_117 <= sum(sizes) / 20 < 129_083 + 7_177 + 7_117 + 3


def test_parts_are_as_large_as_sampling_makes_them(versions: list[BuiltVersion]) -> None:
    terms = versions[0].terms.keyed(b"kgsync")
    for version in versions:
        sizes = SPLITTER.split(version.edges, terms).sizes()
        for part, share in (("train", 0.9), ("validation", 0.05), ("test", 0.05)):
            deviation = (len(version.edges) * share * (1 - share)) ** 0.5
            assert abs(sizes[part] - len(version.edges) * share) < 4 * deviation


def test_parts_of_changes_differ_from_the_papers_by_chance_alone(changes: list[ChangeSet]) -> None:
    for change, (s, ds, w, dw, t, dt, _, _) in zip(changes, paper(), strict=True):
        counts = change.counts()
        for found, reported in (
            (counts.added_triples, (s, w, t)),
            (counts.deleted_triples, (ds, dw, dt)),
        ):
            # Two independent samples of the same edges.
            deviation = np.sqrt(2 * sum(reported) * np.array([0.9 * 0.1, 0.05 * 0.95, 0.05 * 0.95]))
            assert (np.abs(np.subtract(found, reported)) < 5 * deviation).all()


def paper() -> list[list[int]]:
    return [[int(number) for number in line.split()] for line in PAPER.split("\n") if line]

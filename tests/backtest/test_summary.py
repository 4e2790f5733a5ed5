"""The ratios of a backtest, from records with known numbers."""

from __future__ import annotations

import pytest

from kgsync.backtest.records import Method, Record
from kgsync.backtest.summary import summarize


def record(
    method: Method, version: int, mrr: float | None, nmc: float | None, seconds: float
) -> Record:
    """A record of which only some numbers matter."""
    return Record(
        model="transe",
        method=method,
        version=version,
        graph_version=f"urn:{version}",
        triples=1,
        entities=1,
        relations=1,
        added=0,
        deleted=0,
        mrr=mrr,
        mrr_error=0.0,
        mr=1.0,
        hits_at_1=0.0,
        hits_at_3=0.0,
        hits_at_10=0.0,
        hits_at_100=0.0,
        accuracy=None,
        nmc_entities=nmc,
        nmc_entities_error=0.0,
        nmc_relations=nmc,
        seconds=seconds,
        epochs=1,
        best_epoch=1,
        score_evaluations=1,
        gradient_steps=1,
    )


def test_ratios_are_over_the_later_versions() -> None:
    (summary,) = summarize(
        [
            record("train", 0, 0.5, None, 100.0),
            record("update", 1, 0.4, 0.1, 2.0),
            record("update", 2, 0.3, 0.3, 4.0),
            record("update", 3, 0.3, 0.01, 4.0),
            record("recalculate", 1, 0.5, 1.0, 20.0),
            record("recalculate", 2, 0.2, 6.0, 10.0),
            record("recalculate", 3, 0.3, 5.0, 20.0),
            record("leave", 1, 0.3, 0.0, 0.0),
            record("leave", 2, 0.3, 0.0, 0.0),
            record("leave", 3, 0.15, 0.0, 0.0),
        ]
    )
    assert summary.versions == 3
    assert summary.mrr == pytest.approx((0.4 / 0.5 + 0.3 / 0.2 + 0.3 / 0.3) / 3)
    assert summary.nmc_entities == pytest.approx(6.0 / 0.3)  # the others are 10 and 500
    assert summary.nmc_relations == pytest.approx(6.0 / 0.3)
    assert summary.speed == pytest.approx(50.0 / 10.0)
    assert summary.mrr_over_leaving == pytest.approx(2.0)


def test_versions_that_only_one_method_came_to_do_not_count() -> None:
    (summary,) = summarize(
        [
            record("update", 1, 0.4, 0.1, 2.0),
            record("update", 2, 0.4, 0.9, 8.0),
            record("recalculate", 1, 0.5, 1.0, 20.0),
        ]
    )
    assert summary.nmc_entities == pytest.approx(10.0)
    assert summary.speed == pytest.approx(10.0)


def test_what_was_not_run_has_no_ratio() -> None:
    (summary,) = summarize(
        [record("train", 0, 0.5, None, 1.0), record("update", 1, 0.4, None, 1.0)]
    )
    assert summary.mrr is None
    assert summary.mrr_over_leaving is None
    assert summary.nmc_entities is None
    assert summary.speed is None

"""The ratios of a backtest and its verdicts, from records with known numbers."""

from __future__ import annotations

from typing import Any

import pytest

from kgsync.backtest.record import Record
from kgsync.backtest.summary import Summary, summarize
from kgsync.backtest.verdict import verdict


def record(method: str, version: int, mrr: float | None, **more: Any) -> Record:
    """A record of which only some numbers matter."""
    numbers: dict[str, Any] = dict.fromkeys(
        (
            *("triples", "entities", "relations", "added", "deleted", "seconds", "epochs"),
            *("best_epoch", "score_evaluations", "gradient_steps", "mrr_error"),
        ),
        0,
    )
    nothing = dict.fromkeys(
        (
            *("mr", "hits_at_1", "hits_at_3", "hits_at_10", "hits_at_100", "accuracy"),
            *("nmc_entities", "nmc_entities_error", "nmc_relations"),
        )
    )
    told = {"model": "transe", "method": method, "version": version, "mrr": mrr}
    return Record(**{**numbers, **nothing, "graph_version": f"urn:{version}", **told, **more})


def group(mrr: float, triples: int = 10, error: float = 0.0) -> dict[str, float]:
    return {"mrr": mrr, "mrr_error": error, "top_10": 0, "triples": triples, "sampled_from": 10}


def summary_of(records: list[Record], method: str) -> Summary:
    (found,) = (summary for summary in summarize(records) if summary.method == method)
    return found


def history(*ratios: float, error: float = 0.0, method: str = "local") -> list[Record]:
    """An update and retraining over some versions."""
    again = [record("scratch", n, 0.5, score_evaluations=100) for n in range(1, len(ratios) + 1)]
    own = [
        record(method, n, 0.5 * ratio, mrr_error=error, score_evaluations=4)
        for n, ratio in enumerate(ratios, 1)
    ]
    return again + own


def test_ratios_are_over_the_later_versions() -> None:
    records = [record("train", 0, 0.5), *history(0.8, 1.5, 1.0)]
    found = summary_of(records, "local")
    assert found.versions == 3
    assert [ratio.value for ratio in found.ratios] == pytest.approx([0.8, 1.5, 1.0])
    assert found.mrr == pytest.approx(1.1)
    assert found.worst == pytest.approx(0.8)
    assert found.work == pytest.approx(0.04)
    assert summary_of(records, "scratch").mrr == 1.0


def test_groups_count_by_their_triples() -> None:
    records = [
        record("scratch", 1, 0.5, groups={"added": group(0.5), "deleted": group(0.1)}),
        record("scratch", 2, 0.5, groups={"added": group(0.5, triples=30)}),
        record("local", 1, 0.5, groups={"added": group(0.1), "deleted": group(0.3)}),
        record("local", 2, 0.5, groups={"added": group(0.5, triples=30)}),
    ]
    found = summary_of(records, "local")
    assert found.added == pytest.approx((0.1 * 10 + 0.5 * 30) / (0.5 * 40))
    assert found.deleted == pytest.approx(3.0)


def test_versions_that_only_one_method_came_to_do_not_count() -> None:
    records = [*history(1.0, 0.5)[:1], *history(1.0, 0.5)[2:]]
    found = summary_of(records, "local")
    assert (found.mrr, found.versions) == (1.0, 2)


def test_without_retraining_there_is_no_verdict() -> None:
    found = summary_of([record("train", 0, 0.5), record("update", 1, 0.4)], "update")
    assert (found.mrr, found.work, found.mrr_over_frozen) == (None, None, None)
    assert verdict(found).startswith("no verdict")


def test_the_last_version_shows_what_updates_are_worth() -> None:
    records = [record("frozen", 1, 0.4), record("frozen", 2, 0.2)]
    records += [record("update", 1, 0.4), record("update", 2, 0.5)]
    assert summary_of(records, "update").mrr_over_frozen == pytest.approx(2.5)


def test_choices_are_counted() -> None:
    chosen = [("local", 1), ("wide", 2), ("local", 3)]
    records = [
        record("auto", version, 0.5, choice={"strategy": name, "reason": "", "predicted": {}})
        for name, version in chosen
    ]
    assert summary_of(records, "auto").chosen == {"local": 2, "wide": 1}


@pytest.mark.parametrize(
    ("records", "said"),
    [
        (history(0.99, 0.97), "updating is good enough: MRR is 98.0% of retraining's (worst 97.0%"),
        (history(0.99, 0.97), "for 4.0% of the work"),
        (history(0.98, 0.91, 0.92), "retraining is due: MRR is 93.7% of retraining's on average"),
        (history(0.98, 0.91, 0.92), "and below 95% from version 2 on"),
        (history(1.05, 0.85, 1.05), "retraining is due: at version 2 MRR is 85.0%"),
        (history(0.93, 0.93, error=0.02), "undecided: MRR is 93.0%"),
        (history(0.93, 0.93, error=0.001), "retraining is due"),
        (history(1.0, method="frozen"), "no update is needed"),
        (history(0.5, method="frozen"), "updates are due"),
    ],
)
def test_the_verdict_follows_from_the_figures(records: list[Record], said: str) -> None:
    assert said in verdict(summary_of(records, records[-1].method))


@pytest.mark.parametrize(
    ("added", "deleted", "said"),
    [
        (0.4, 0.1, "retraining is due: on added triples MRR is 80.0% of retraining's"),
        (0.5, 0.2, "retraining is due: on deleted triples MRR is still 2.0 times retraining's"),
        (0.5, 0.1, "updating is good enough"),
    ],
)
def test_the_verdict_counts_what_was_learned_and_forgotten(
    added: float, deleted: float, said: str
) -> None:
    records = [
        record("scratch", 1, 0.5, groups={"added": group(0.5), "deleted": group(0.1)}),
        record("local", 1, 0.5, groups={"added": group(added), "deleted": group(deleted)}),
    ]
    assert said in verdict(summary_of(records, "local"))
    unsure = [
        record("scratch", 1, 0.5, groups={"deleted": group(0.1, error=0.05)}),
        record("local", 1, 0.5, groups={"deleted": group(0.2, error=0.1)}),
    ]
    assert "updating is good enough" in verdict(summary_of(unsure, "local"))

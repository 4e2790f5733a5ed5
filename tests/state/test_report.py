"""What a report says in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kgsync.graph.change import ChangeCounts
from kgsync.state.report import Plan, Quality, StepReport, describe_quality


@pytest.mark.parametrize(
    ("errors", "line"),
    [
        ((0.01, 0.02), "MRR 0.500 ± 0.010, Hits@10 0.600 ± 0.020, MR 12.0"),
        ((0.0, 0.0), "MRR 0.500, Hits@10 0.600, MR 12.0"),
    ],
)
def test_quality_on_a_sample_has_errors(errors: tuple[float, float], line: str) -> None:
    quality: Quality = {"mr": 12, "mrr": 0.5, "hits@10": 0.6}
    quality |= {"mrr_error": errors[0], "hits@10_error": errors[1]}
    assert describe_quality(quality) == line


GROUP = {"mrr": 0.5, "mrr_error": 0.021, "top_10": 123, "triples": 200, "sampled_from": 9_999}
LEARNED = {
    "groups": dict.fromkeys(
        ("added", "unchanged", "deleted", "unseen", "near", "elsewhere"), GROUP
    ),
    "still_ranked": [
        {
            "head": "http://example.org/" + "a-long-name" * 9,
            "relation": "http://example.org/terms#worksFor",
            "tail": "urn:x",
            "head_rank": 1.0,
            "tail_rank": 1234.5,
        }
    ],
    "candidates": 10_000,
    "entities": 1_234_567,
}
NEIGHBORS = {"overlap": 0.98, "error": 0.01, "k": 10, "sample": 200, "candidates": 10_000}
REWRITTEN = {"entity": {"moved": 7, "shared": 1_000}, "relation": {"moved": 0, "shared": 9}}


def report_of(**fields: Any) -> StepReport:
    return StepReport(
        "updated",
        2,
        change=ChangeCounts((1, 0, 0), (1, 0, 0), 0, 0, 0, 0),
        **{"learned": LEARNED, "neighbors": NEIGHBORS, "rewritten": REWRITTEN, **fields},
    )


def test_what_was_learned_and_forgotten_fits_80_columns() -> None:
    lines = report_of().summary()
    told = "\n".join(lines)
    assert "learned        MRR 0.500 ± 0.021 on 200 added, 0.500 ± 0.021 on 200 unchanged" in lines
    assert "forgotten      MRR 0.500 ± 0.021 on 200 deleted, 0.500 ± 0.021 on 200 unseen" in lines
    assert "test triples   MRR 0.500 ± 0.021 on 200 near, 0.500 ± 0.021 on 200 elsewhere" in lines
    assert "still ranked   123 of 200 deleted in a top 10, 123 of 200 unseen" in lines
    assert "  1/1234.5: a-long-namea-long-n… worksFor urn:x" in lines
    assert "rewritten      vectors of 0.7% of the entities, 0.0% of the relations" in lines
    assert "neighbors      98.0% ± 1.0% of the 10 nearest are the same (200 entities)" in lines
    assert "these are among 10,000 of 1,234,567 entities" in lines
    assert max(map(len, told.splitlines())) <= 78
    assert max(map(len, str(report_of()).splitlines())) <= 80


def test_what_was_not_measured_is_not_told() -> None:
    groups = dict.fromkeys(("unchanged", "deleted", "unseen"), GROUP)
    forgotten = {**LEARNED, "groups": {**groups, "deleted": {**GROUP, "top_10": 0}}}
    told = "\n".join(report_of(learned=forgotten, neighbors=None, rewritten=None).summary())
    assert "forgotten" in told
    for absent in ("learned", "test triples", "still ranked", "rewritten", "neighbors"):
        assert absent not in told
    nothing = "\n".join(report_of(learned=None, neighbors=None, rewritten=None).summary())
    assert "forgotten" not in nothing
    assert "these are among" not in nothing


def test_everything_has_the_entities_of_a_small_graph_as_candidates() -> None:
    small = {**LEARNED, "candidates": 40, "entities": 40}
    assert not [line for line in report_of(learned=small).summary() if "these are" in line]


def test_a_report_is_read_back_also_if_it_is_of_an_earlier_release() -> None:
    report = report_of()
    plain = json.loads(json.dumps(report.to_json()))
    assert StepReport.from_json(plain) == report
    for name in ("learned", "neighbors", "rewritten"):
        del plain[name]
    older = StepReport.from_json(plain)
    assert (older.learned, older.neighbors, older.rewritten) == (None, None, None)


def test_one_thing_is_in_the_singular() -> None:
    report = report_of(triples={"train": 1}, entities=1, relations=1, behind=1, epochs=1)
    assert report.summary()[0] == "1 triple (1 train), 1 entity, 1 relation"
    assert "1 version still to do" in report.summary()
    assert "1 epoch, 0.0 s ()" in report.summary()


def test_many_phases_fit_80_columns() -> None:
    phases = ("fetch", "compile", "initial vectors", "update", "evaluate", "learned", "write")
    seconds = dict.fromkeys((*phases, "stage", "commit", "publish"), 1234.5)
    assert max(map(len, str(report_of(seconds=seconds)).splitlines())) <= 80


def test_the_ranks_of_what_is_still_ranked_are_explained() -> None:
    lines = report_of().summary()
    where = lines.index("  1/1234.5: a-long-namea-long-n… worksFor urn:x")
    assert lines[where - 1] == "  head rank/tail rank: triple"


@pytest.mark.parametrize(
    ("method", "shared", "line"),
    [
        ("", {"entity": None, "relation": None}, "not aligned: no common entities"),
        ("", {"entity": {"nmc": 0.5}, "relation": None}, "not aligned: no common relations"),
        (
            "rotation",
            {"entity": {"nmc": 0.5}},
            "aligned        rotation; without it, moved entity 0.5",
        ),
    ],
)
def test_what_could_not_be_aligned_is_told(method: str, shared: Any, line: str) -> None:
    alignment = {"method": method, "stability_before": shared}
    assert line in report_of(alignment=alignment).summary()


UPDATE = {"strategy": "local", "reason": "small", "predicted": {"local": 7}}


def test_a_plan_tells_all_that_it_knows() -> None:
    plan = Plan(
        "http://example.org/kg/2",
        "issued",
        1,
        ("p",),
        ("o",),
        empty=("e",),
        gathered=("g",),
        change=ChangeCounts((1, 0, 0), (1, 0, 0), 0, 0, 0, 0),
        update=UPDATE,
        removed_share=0.25,
        skipped={"literals": 3},
        way="scan",
        reason="it is short",
        warnings=("w",),
    )
    lines = str(plan).splitlines()
    assert lines[0] == "next: http://example.org/kg/2 (1 version to do, ordered by issued)"
    for line in (
        "together with g",
        "update         local: small",
        "work           predicted: local 7",
        "found by scan: it is short",
        "removes 25.0% of the current triples",
        "not embedded: 3 literals",
        "added late, will be skipped: o",
        "empty, will be skipped: e",
        "not issued yet: p",
        "warning: w",
    ):
        assert line in lines

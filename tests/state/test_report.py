"""What a report says in words."""

from __future__ import annotations

import pytest

from kgsync.state.report import Quality, describe_quality


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

"""Numbers of things in words."""

from __future__ import annotations

import pytest

from kgsync.common.wording import counted


@pytest.mark.parametrize(
    ("count", "noun", "told"),
    [
        (0, "version", "0 versions"),
        (1, "version", "1 version"),
        (1_234, "triple", "1,234 triples"),
        (1, "entity", "1 entity"),
        (2, "entity", "2 entities"),
    ],
)
def test_a_number_of_things_has_the_right_form(count: int, noun: str, told: str) -> None:
    assert counted(count, noun) == told


def test_a_plural_may_be_irregular() -> None:
    assert counted(2, "half", "halves") == "2 halves"

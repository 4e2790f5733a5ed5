"""Which cases of a long matrix run in `make test`; `make torture` runs all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["thinned"]


def thinned(cases: Iterable[Any], is_typical: Callable[[Any], bool]) -> list[Any]:
    """The cases for `parametrize`; those that are not typical are marked for `make torture`."""
    return [case if is_typical(case) else _torture(case) for case in cases]


def _torture(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.torture)

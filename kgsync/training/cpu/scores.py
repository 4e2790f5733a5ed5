"""Scores of single triples and their gradients, for every model.

Both branch on the model once a triple. A gradient is added to rows of `sums`, which has the same
tables as the model: row `at.head` for the head, and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kgsync.training.cpu.bilinear import add_bilinear, make_query
from kgsync.training.cpu.layout import TRANSD, TRANSE, TRANSH, kernel
from kgsync.training.cpu.translations import (
    add_transd,
    add_transe,
    add_transh,
    gap_transd,
    gap_transe,
    gap_transh,
)
from kgsync.training.cpu.vectors import add, dot, length, slope

__all__ = ["add_gradient", "score"]


@kernel
def score(choices: Any, tables: Any, triple: Any, work: Any) -> Any:
    """f_r(h, t); `work` has at least four rows as wide as a vector."""
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r, code = tables.relation[triple.relation], choices.code
    if code > TRANSD:
        query = work[0, : len(h)]
        make_query(choices, h, r, True, query)
        return dot(query, t)
    gap = work[0, : len(r)]
    if code == TRANSE:
        gap_transe(h, r, np.float32(1), t, gap)
    elif code == TRANSH:
        gap_transh(h, r, t, tables.relation2[triple.relation], work)
    else:
        gap_transd(tables, triple, work)
    return -length(choices.norm, gap)


@kernel
def add_gradient(
    choices: Any, tables: Any, triple: Any, weight: Any, sums: Any, at: Any, work: Any
) -> None:
    """Add weight · ∂f/∂θ for every row θ of the triple."""
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r, code = tables.relation[triple.relation], choices.code
    to_h, to_r, to_t = sums.entity[at.head], sums.relation[at.relation], sums.entity[at.tail]
    if code == TRANSE:
        gap = work[0, : len(h)]
        gap_transe(h, r, np.float32(1), t, gap)
        slope(choices.norm, gap, weight)
        add_transe(gap, to_h, to_r, to_t)
    elif code == TRANSH:
        add_transh(choices.norm, tables, triple, weight, sums, at, work)
    elif code == TRANSD:
        add_transd(choices.norm, tables, triple, weight, sums, at, work)
    else:
        query, other = work[0, : len(h)], work[1, : len(h)]
        make_query(choices, h, r, True, query)
        add(to_t, weight, query)
        for i in range(len(other)):
            other[i] = np.float32(weight) * t[i]
        add_bilinear(choices, h, r, other, True, to_h, to_r)

"""What the kernels of a loss are: parts for the slots below, each a kernel, no defaults.

- `slopes(margin, right, wrong, share)`: the loss of a pair from its two scores, and the slopes by
  them. `share` is 1 / number of scores in the batch, for a loss that is a mean. Where the loss is 0
  the slopes do not matter: the pair is skipped.
- `add_evidence(margin, tables, true, negatives, drawn, element, sums, own, work, total, scores)`:
  for pretraining, add the gradients by a new element of one of its triples and the `drawn`
  negatives of it to the sums. Returns the sum of losses and the number of scores, `total` and
  `scores` before.
- `of_element(total, scores)`: the loss of an element, and what its sums are to be multiplied with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgsync.common.kernels import Slot

__all__ = ["Element", "Negatives", "add_evidence", "of_element", "slopes"]

slopes: Any = Slot("slopes")
add_evidence: Any = Slot("add_evidence")
of_element: Any = Slot("of_element")


class Negatives(NamedTuple):
    """The negatives sampled for a positive; they have its relation."""

    heads: NDArray[np.int64]
    tails: NDArray[np.int64]


class Element(NamedTuple):
    """The new element that is trained."""

    of_relation: bool
    row: int

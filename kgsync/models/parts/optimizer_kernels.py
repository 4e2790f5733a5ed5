"""What the kernels of an optimiser are: parts for the slots below, each a kernel, no defaults.

- `move(vector, state, gradient, step, weight)`: move a row against its gradient and that of
  weight · |vector|², a penalty. Returns |vector|² as it was before, or 0 if the optimiser takes no
  penalty.
- `move_own(vector, gradient, state, share, rate)`: for pretraining, move the vector of a new
  element against share · gradient.

`state` is what the optimiser keeps of the row, if it has a state.
"""

from __future__ import annotations

from typing import Any

from kgsync.common.kernels import Slot

__all__ = ["move", "move_own"]

move: Any = Slot("move")
move_own: Any = Slot("move_own")

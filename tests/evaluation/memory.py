"""How large the tensors get that a piece of code makes."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Largest(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the size of the largest tensor that is made inside `with Largest()`."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation and look at its result."""
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor):
            self.bytes = max(self.bytes, result.nbytes)
        return result

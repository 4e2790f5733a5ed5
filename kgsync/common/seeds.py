"""Random streams, one per phase, seeded by hash(seed, what is learned from, phase)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

__all__ = ["Seeds"]


@dataclass(frozen=True)
class Seeds:
    """Streams of random numbers for one step."""

    seed: int
    content: str
    """A fingerprint of what is learned from: the same graph, the same numbers."""

    def number(self, phase: str) -> int:
        """A 63-bit number for a phase."""
        text = f"{self.seed}\x00{self.content}\x00{phase}".encode()
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1

    def numpy(self, phase: str) -> np.random.Generator:
        """A numpy generator for a phase."""
        return np.random.default_rng(self.number(phase))

    def torch(self, phase: str) -> torch.Generator:
        """A torch generator for a phase."""
        import torch

        return torch.Generator().manual_seed(self.number(phase))

"""ANALOGY: a relation is a block-diagonal matrix, half of it scalars, half 2x2 rotations.

The blocks [[a, b], [-b, a]] are complex numbers in disguise, so the second half of ANALOGY is
ComplEx, and ComplEx alone is ANALOGY without its scalar half.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from kgsync.errors import ConfigError
from kgsync.models.base import Rows, TableSpec
from kgsync.models.bilinear import Bilinear
from kgsync.models.losses import LogisticLoss, Loss
from kgsync.models.settings import ModelSettings

__all__ = ["Analogy", "ComplEx"]


class Analogy(Bilinear):
    """f_r(h, t) = hᵀ M t; a vector is [scalars | real parts | imaginary parts]."""

    scalar_share: ClassVar[float] = 0.5
    """Share of the numbers that are scalars."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation.

        Raises:
            ConfigError: The dimension cannot be halved as the model needs it.
        """
        width = settings.dimension
        step = 4 if cls.scalar_share else 2
        if width % step:
            raise ConfigError(f"{settings.name} needs a dimension divisible by {step}, not {width}")
        return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width)}

    def from_head(self, head: Rows, relation: Rows) -> Tensor:
        """hᵀ M: scalars multiply, complex numbers multiply."""
        s, re, im = self._parts(head["entity"])
        rs, rre, rim = self._parts(relation["relation"])
        return torch.cat([s * rs, re * rre - im * rim, re * rim + im * rre], dim=-1)

    def from_tail(self, tail: Rows, relation: Rows) -> Tensor:
        """M t: the relation's complex numbers are conjugated."""
        s, re, im = self._parts(tail["entity"])
        rs, rre, rim = self._parts(relation["relation"])
        return torch.cat([s * rs, re * rre + im * rim, im * rre - re * rim], dim=-1)

    @property
    def loss(self) -> Loss:
        """Averaged logistic loss."""
        return LogisticLoss()

    def penalty(self, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
        """L2 penalty."""
        return self.squares(head, relation, tail)

    def _parts(self, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        width = vectors.shape[-1]
        scalars = int(width * self.scalar_share)
        half = (width - scalars) // 2
        ends = scalars, scalars + half
        return vectors[..., : ends[0]], vectors[..., ends[0] : ends[1]], vectors[..., ends[1] :]


class ComplEx(Analogy):
    """f_r(h, t) = Re⟨h, r, conj t⟩, equivalent to HolE."""

    scalar_share = 0.0

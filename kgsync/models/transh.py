"""TransH: a relation is a translation on a hyperplane of its own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from kgsync.models.base import Rows, TableSpec
from kgsync.models.distances import Projections
from kgsync.models.settings import ModelSettings
from kgsync.models.translational import Translational

__all__ = ["CONSTRAINT_TOLERANCE", "CONSTRAINT_WEIGHT", "TransH"]

CONSTRAINT_WEIGHT = 1 / 64
CONSTRAINT_TOLERANCE = 1e-3


class TransH(Translational):
    """f_r(h, t) = -‖h⊥ + r - t⊥‖ with e⊥ = e - (w·e) w and w the unit normal of r's hyperplane."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity; a translation and a normal per relation."""
        width = settings.dimension
        return {
            "entity": TableSpec("entity", width),
            "relation": TableSpec("relation", width),
            "normal": TableSpec("relation", width, unit=True),
        }

    def project(self, entity: Rows, relation: Rows) -> Tensor:
        """Entities on the hyperplanes; only the direction of a normal counts."""
        normal = functional.normalize(relation["normal"], dim=-1)
        along = (entity["entity"] * normal).sum(-1, keepdim=True)
        return entity["entity"] - along * normal

    def projections(self, relation: Rows, candidates: Rows) -> Projections | None:
        """Onto the hyperplane of each relation."""
        normals, group = torch.unique(relation["normal"], dim=0, return_inverse=True)
        return Projections(group, functional.normalize(normals, dim=-1))

    def constraint(self, relations: Rows) -> Tensor | None:
        """Soft constraint that r lies on its hyperplane: C Σ [(w·r)²/‖r‖² - ε²]₊."""
        normal = functional.normalize(relations["normal"], dim=-1)
        translation = functional.normalize(relations["relation"], dim=-1)
        cosine = (normal * translation).sum(-1)
        return CONSTRAINT_WEIGHT * torch.relu(cosine.square() - CONSTRAINT_TOLERANCE**2).sum()

"""TransD: every pair of an entity and a relation has a projection of its own."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from kgsync.models.base import Rows, TableSpec
from kgsync.models.distances import Projections
from kgsync.models.settings import ModelSettings
from kgsync.models.translational import Translational

__all__ = ["TransD"]


class TransD(Translational):
    """f_r(h, t) = -‖h⊥ + r - t⊥‖ with e⊥ = (r_p e_pᵀ + I) e, normalised."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """A vector and a projection vector per element; relations may have a width of their own."""
        entity, relation = settings.dimension, settings.relation_dimension or settings.dimension
        return {
            "entity": TableSpec("entity", entity),
            "entity_projection": TableSpec("entity", entity),
            "relation": TableSpec("relation", relation),
            "relation_projection": TableSpec("relation", relation),
        }

    def project(self, entity: Rows, relation: Rows) -> Tensor:
        """Entities in the relations' spaces; I cuts or pads with zeros where the widths differ."""
        vector, projection = entity["entity"], relation["relation_projection"]
        along = (vector * entity["entity_projection"]).sum(-1, keepdim=True)
        missing = projection.shape[-1] - vector.shape[-1]
        resized = functional.pad(vector, (0, missing))  # a negative padding cuts
        return functional.normalize(along * projection + resized, dim=-1)

    def projections(self, relation: Rows, candidates: Rows) -> Projections | None:
        """Into the space of each relation, by both projection vectors."""
        directions, group = torch.unique(
            relation["relation_projection"], dim=0, return_inverse=True
        )
        return Projections(group, directions, candidates["entity_projection"])

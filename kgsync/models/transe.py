"""TransE: a relation is a translation, h + r ≈ t. Vectors are not normalised."""

from __future__ import annotations

from torch import Tensor

from kgsync.models.base import Rows, TableSpec
from kgsync.models.settings import ModelSettings
from kgsync.models.translational import Translational

__all__ = ["TransE"]


class TransE(Translational):
    """f_r(h, t) = -‖h + r - t‖."""

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation."""
        width = settings.dimension
        return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width)}

    def project(self, entity: Rows, relation: Rows) -> Tensor:
        """Every relation sees an entity alike."""
        return entity["entity"]

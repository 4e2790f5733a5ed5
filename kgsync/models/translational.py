"""What the translational models share: a relation moves the head to where the tail should be."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from kgsync.models.base import Model, Rows
from kgsync.models.distances import Projections, distances_to_all
from kgsync.models.losses import Loss, MarginLoss

__all__ = ["Translational"]


class Translational(Model):
    """f_r(h, t) = -‖h⊥ + r - t⊥‖, where ⊥ is the model's projection for the relation."""

    @abstractmethod
    def project(self, entity: Rows, relation: Rows) -> Tensor:
        """Entities as the relations see them, row by row."""

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Negative distance of h⊥ + r and t⊥."""
        heads, tails = self.project(head, relation), self.project(tail, relation)
        return -self.length(heads + relation["relation"] - tails)

    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """Distance of h⊥ + r to every candidate's projection."""
        points = self.project(head, relation) + relation["relation"]
        return self._distances(points, relation, candidates)

    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """Distance of t⊥ - r to every candidate's projection."""
        points = self.project(tail, relation) - relation["relation"]
        return self._distances(points, relation, candidates)

    @property
    def loss(self) -> Loss:
        """Summed margin loss."""
        return MarginLoss(self.settings.margin)

    def projections(self, relation: Rows, candidates: Rows) -> Projections | None:
        """How the relations of queries see every candidate, the same as `project`."""
        return None

    def _distances(self, points: Tensor, relation: Rows, candidates: Rows) -> Tensor:
        """Negative distances of points to all candidates, projected once for each relation."""
        norm = self.settings.norm
        seen = self.projections(relation, candidates)
        sums = distances_to_all(
            points, candidates["entity"], squared=norm != "l1", projections=seen
        )
        return sums.sqrt_().neg_() if norm == "l2" else sums.neg_()

    def length(self, gap: Tensor) -> Tensor:
        """Length of gaps in the norm of the settings."""
        if self.settings.norm == "l2sq":
            return gap.square().sum(-1)
        length: Tensor = torch.linalg.vector_norm(
            gap, ord=1.0 if self.settings.norm == "l1" else 2.0, dim=-1
        )
        return length

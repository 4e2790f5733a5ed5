"""What the translational models share: a relation moves the head to where the tail should be."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from kgsync.models.base import Kind, Model, Rows
from kgsync.models.parts.arrays import Array, Sums, length, sums_in_order, sums_of_rows
from kgsync.models.parts.distances import Projections, scores_of_all
from kgsync.models.parts.loops import inlined
from kgsync.models.parts.places import Places

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Translational", "make_gap"]


class Translational(Model):
    """f_r(h, t) = -‖h⊥ + r - t⊥‖, where ⊥ is the model's projection for the relation."""

    @abstractmethod
    def project(self, entity: Rows, relation: Rows, sums: Sums = sums_of_rows) -> Array:
        """Entities as the relations see them, row by row; `sums` is how rows are summed."""

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Array:
        """Negative distance of h⊥ + r and t⊥."""
        heads, tails = self.project(head, relation), self.project(tail, relation)
        return -length(heads + relation["relation"] - tails, self.settings.norm)

    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Array:
        """Distance of h⊥ + r to every candidate's projection."""
        points = self.project(head, relation, sums_in_order) + relation["relation"]
        return self._distances(points, relation, candidates)

    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Array:
        """Distance of t⊥ - r to every candidate's projection."""
        points = self.project(tail, relation, sums_in_order) - relation["relation"]
        return self._distances(points, relation, candidates)

    def projections(self, relation: Rows, candidates: Rows) -> Projections | None:
        """How the relations of queries see every candidate, the same as `project`."""
        return None

    def places(
        self, kind: Kind, head: Rows, relation: Rows, tail: Rows, incoming: Tensor
    ) -> Places:
        """Points: t - h for a relation, h⊥ + r or t⊥ - r for an entity."""
        import torch

        if kind == "relation":
            return Places((tail["entity"] - head["entity"]).double(), None)
        after = self.project(head, relation) + relation["relation"]
        before = self.project(tail, relation) - relation["relation"]
        return Places(torch.where(incoming, after, before).double(), None)

    def _distances(self, points: Array, relation: Rows, candidates: Rows) -> Array:
        """Negative distances of points to all candidates, projected once for each relation."""
        seen = self.projections(relation, candidates)
        return scores_of_all(points, candidates["entity"], self.settings.norm, seen)

    def length(self, gap: Array) -> Array:
        """Length of gaps in the norm of the settings."""
        return length(gap, self.settings.norm)


@inlined
def make_gap(a: Any, r: Any, turn: Any, b: Any, gap: Any) -> None:
    """Gap = a + turn · r - b."""
    for i in range(len(gap)):
        gap[i] = a[i] + turn * r[i] - b[i]

"""DistMult: a relation weights the coordinates that head and tail share."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from kgsync.config import ModelSettings
from kgsync.models.base import Model, Rows, TableSpec, TrainingDefaults
from kgsync.models.losses import logistic_loss

__all__ = ["DistMult"]


class DistMult(Model):
    """f_r(h, t) = Σ h·r·t, symmetric in h and t."""

    defaults: ClassVar = TrainingDefaults("adagrad", 0.1)

    @classmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """One vector per entity and per relation."""
        width = settings.dimension
        return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width)}

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Three-way product."""
        return (head["entity"] * relation["relation"] * tail["entity"]).sum(-1)

    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """One matrix product.

        A product sums in an order that depends on the place in the matrix; in double precision
        equal vectors still get equal scores, so that ties are ties.
        """
        query = (head["entity"] * relation["relation"]).double()
        return (query @ candidates["entity"].T.double()).to(head["entity"].dtype)

    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """The same as for tails: the score is symmetric."""
        return self.score_tails(tail, relation, candidates)

    def loss(self, positive: Tensor, negative: Tensor) -> Tensor:
        """Averaged logistic loss."""
        return logistic_loss(positive, negative)

    def penalty(self, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
        """L2 penalty on the mean squares of a batch's vectors (OpenKE)."""
        squares = [
            rows.square().mean() for rows in (head["entity"], relation["relation"], tail["entity"])
        ]
        return self.settings.l2_penalty * (squares[0] + squares[1] + squares[2])

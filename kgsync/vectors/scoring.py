"""Scores of triples by a model's tables; the model's code is imported when it is first asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgsync.models.settings import ModelSettings

if TYPE_CHECKING:
    from kgsync.models.base import Rows

__all__ = ["Scorer"]


class Scorer:
    """The model of one version. Rows are those of its tables."""

    def __init__(self, settings: dict[str, Any], tables: dict[str, NDArray[np.float32]]) -> None:
        """Take copies of the tables.

        Args:
            settings: Those of the model, as a version records them.
            tables: Name -> one vector per row.
        """
        import torch

        from kgsync.models import model_class

        model = ModelSettings(**settings)
        copies = {name: torch.from_numpy(np.array(table)) for name, table in tables.items()}
        self._model = model_class(model.name)(model, copies)

    def score(self, head: int, relation: int, tail: int) -> float:
        """The score of one triple."""
        rows = self._entity(head), self._relation(relation), self._entity(tail)
        return float(self._model.score_tails(*rows)[0, 0])

    def candidates(self, entity: int, relation: int, *, tails: bool) -> NDArray[np.float32]:
        """The scores of all entities as the tail of a head, or as the head of a tail."""
        score = self._model.score_tails if tails else self._model.score_heads
        every = self._model.rows("entity", slice(None))
        scores: NDArray[np.float32] = score(self._entity(entity), self._relation(relation), every)[
            0
        ].numpy()
        return scores

    def _entity(self, row: int) -> Rows:
        return self._model.rows("entity", slice(row, row + 1))

    def _relation(self, row: int) -> Rows:
        return self._model.rows("relation", slice(row, row + 1))

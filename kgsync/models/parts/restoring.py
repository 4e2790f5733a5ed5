"""Restore a model from its recorded settings and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.models.settings import ModelSettings

__all__ = ["restored_model"]


def restored_model(
    settings: Mapping[str, Any], tables: Mapping[str, NDArray[Any]], *, copied: bool = True
) -> Model:
    """The model, ready to score, and to be updated if its tables are copies.

    Args:
        settings: Those of the model.
        tables: Its tables by name.
        copied: Whether its tables are copies; if not, they share memory where torch can.
    """
    import torch

    chosen = ModelSettings(**settings)
    own = {
        name: torch.from_numpy(table.copy() if copied or not table.flags.writeable else table)
        for name, table in tables.items()
    }
    return model_class(chosen.name)(chosen, own)

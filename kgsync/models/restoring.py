"""Restore a model from its recorded settings and tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.models.settings import ModelSettings

__all__ = ["restored_model"]


def restored_model(settings: Mapping[str, Any], tables: Mapping[str, NDArray[Any]]) -> Model:
    """The model, ready to score or to be updated; its tables are copies."""
    import torch

    chosen = ModelSettings(**settings)
    copies = {name: torch.from_numpy(table.copy()) for name, table in tables.items()}
    return model_class(chosen.name)(chosen, copies)

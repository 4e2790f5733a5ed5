"""Which models something holds for, in words, from their declarations: for help and messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgsync.models.declaration import ModelDeclaration

__all__ = ["titles_of", "values_of"]


def titles_of(holds: Callable[[ModelDeclaration], Any]) -> str:
    """The models for which something holds: "TransE and TransH"."""
    from kgsync.models import MODELS

    return _listed([each.title for each in MODELS.values() if holds(each)])


def values_of(value: Callable[[ModelDeclaration], Any]) -> str:
    """What each model declares: "50 for RESCAL, 100 for the others"."""
    from kgsync.models import MODELS

    groups: dict[Any, list[str]] = {}
    for each in MODELS.values():
        groups.setdefault(value(each), []).append(each.title)
    *few, (most, _) = sorted(groups.items(), key=lambda group: len(group[1]))
    others = "the others" if few else "all models"
    return ", ".join([*(f"{said} for {_listed(who)}" for said, who in few), f"{most} for {others}"])


def _listed(names: list[str]) -> str:
    *most, last = names or ["no model"]
    return f"{', '.join(most)} and {last}" if most else last

"""Checks all settings: each section by its declarations, then rules across sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kgsync.common.declare import Rule, Ruled, every_section, settings_of, wrong
from kgsync.config.values import check_value
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.config.settings import Settings

__all__ = ["check"]


def check(settings: Settings) -> None:
    """Check every value and every rule.

    Raises:
        ConfigError: One is wrong; the message names it.
    """
    for name, section, _ in every_section(type(settings)):
        chosen: Any = settings
        for key in name.split("."):
            chosen = getattr(chosen, key)
        if not isinstance(chosen, section):
            given = type(chosen).__name__  # not its value, which may hold a secret
            raise ConfigError(f"[{name}] must be of type {section.__name__}, not {given}")
        _check_section(chosen, name)
    for holds, keys, message in (*_model_rules(settings), *_rules(settings)):
        if not holds:
            raise wrong("", keys, message)


def _check_section(chosen: Any, name: str) -> None:
    for key, setting in settings_of(type(chosen)).items():
        value = getattr(chosen, key)
        if value is not None or not setting.optional:
            check_value(setting, value, name)
    if isinstance(chosen, Ruled):
        for holds, keys, message in chosen.rules():
            if not holds:
                raise wrong(name, keys, message)


def _model_rules(settings: Settings) -> Iterator[Rule]:
    """What depends on the model."""
    from kgsync.models import MODELS

    model, update, declared = settings.model, settings.update, MODELS[settings.model.name]
    by_pair = ", ".join(name for name in MODELS if MODELS[name].steps_by_pair)
    wide = ", ".join(name for name in MODELS if MODELS[name].has_relation_dimension)
    yield Rule(
        model.dimension % declared.divisor == 0,
        ("model.dimension",),
        f"[model] {model.name} needs a dimension divisible by {declared.divisor}",
    )
    yield Rule(
        model.relation_dimension == 0 or declared.has_relation_dimension,
        ("model.relation_dimension",),
        f"[model] {model.name} does not support relation_dimension; only {wide} does",
    )
    yield Rule(
        settings.run.backend != "cpu" or declared.kernels is not None,
        ("run.backend", "model.name"),
        f"[run] {model.name} has no kernels for backend = 'cpu'; use 'auto' or 'torch'",
    )
    yield Rule(
        update.initial_vectors in ("average", "random") or bool(declared.closed_forms),
        ("update.initial_vectors", "model.name"),
        f"[update] {model.name} supports only initial_vectors 'average' and 'random', not "
        + repr(update.initial_vectors),
    )
    yield Rule(
        settings.training.steps == "batch"
        or (declared.steps_by_pair and settings.run.backend != "torch"),
        ("training.steps", "model.name", "run.backend"),
        f"[training] steps = 'pair' works only with {by_pair}, and not with backend = 'torch'",
    )


def _rules(settings: Settings) -> Iterator[Rule]:
    """What concerns several sections."""
    yield Rule(
        settings.training.steps == "batch" or settings.run.device == "cpu",
        ("training.steps", "run.device"),
        "[training] steps = 'pair' works only with run.device = 'cpu'",
    )

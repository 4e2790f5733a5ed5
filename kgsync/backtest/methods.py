"""What a backtest compares: update strategies, retraining, and a frozen baseline, by name."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cache

from kgsync.config import Settings
from kgsync.errors import ConfigError
from kgsync.training.rates import ANNEALING, annealing_of
from kgsync.training.settings import anneals, strategies

__all__ = [
    "DEFAULT_METHODS",
    "FIRST",
    "FROZEN",
    "SCRATCH",
    "UPDATE",
    "current_name",
    "first_among",
    "first_of",
    "former_names",
    "is_first",
    "known_methods",
    "methods_named",
    "rank_of",
    "settings_for",
    "strategy_of",
]

UPDATE, FROZEN, SCRATCH = "update", "frozen", "scratch"
"""Updating as the settings say, no update at all, and training every version from scratch."""
DEFAULT_METHODS = UPDATE, FROZEN, SCRATCH
FIRST = "train"
"""Training of the first version, as the settings say; see `first_of`."""
_FIRST_ANNEALED, _FIRST_PAPER = "train-annealed", "train-paper"
_ALIGNED = {"aligned": "retrain"}
"""Methods that are not called as their strategies: `retrain` has long been the name of another."""
_FORMER = {"retrain": SCRATCH, "recalculate": SCRATCH, "leave": FROZEN}
"""What methods were called before, also in the names of files; all are still read."""
_REMEMBERING = "local"
"""A strategy whose updates build on what those before have left."""
_log = logging.getLogger(__name__)


def known_methods() -> list[str]:
    """All methods: the three usual ones, and every update strategy."""
    renamed = {strategy: method for method, strategy in _ALIGNED.items()}
    return [*DEFAULT_METHODS, *(renamed.get(name, name) for name in _strategies())]


def current_name(name: str) -> str:
    """The name that a method has now."""
    return _FORMER.get(name, name)


def former_names(method: str) -> list[str]:
    """The names that it had before."""
    return [former for former, now in _FORMER.items() if now == method]


def rank_of(method: str) -> int:
    """Its place among all methods; those that are not known are last."""
    known = known_methods()
    return known.index(method) if method in known else len(known)


def methods_named(names: Sequence[str], settings: Settings) -> list[str]:
    """The methods of some names, or of former names, each once.

    A strategy that `update` already stands for is left out beside it.

    Raises:
        ConfigError: There is no such method.
    """
    known = known_methods()
    for name in names:
        if current_name(name) not in known:
            raise ConfigError(f"there is no method {name!r}; known: {', '.join(known)}")
        if name in _FORMER:
            aligned = (m for m, strategy in _ALIGNED.items() if strategy == name)
            hint = "".join(f"; the update strategy {name!r} is the method {m!r}" for m in aligned)
            _log.warning("the method %r is now called %r%s", name, current_name(name), hint)
    methods = list(dict.fromkeys(map(current_name, names)))
    configured = settings.update.strategy
    if UPDATE in methods:
        methods = [m for m in methods if m == UPDATE or strategy_of(m, settings) != configured]
    return methods


def strategy_of(method: str, settings: Settings) -> str | None:
    """The update strategy of a method; None if it is not one."""
    if method == UPDATE:
        return settings.update.strategy
    name = _ALIGNED.get(method, method)
    return name if name in _strategies() else None


def first_of(method: str, settings: Settings) -> str:
    """The first version that a method goes on from.

    It is trained as in a sync with this method's strategy: the paper's training has no annealing.
    """
    strategy = strategy_of(method, settings)
    if strategy is None:
        return FIRST
    wanted = _annealing(settings, strategy)
    if wanted == _annealing(settings, settings.update.strategy):
        return FIRST
    return _FIRST_ANNEALED if wanted else _FIRST_PAPER


def is_first(name: str) -> bool:
    """Whether this is the training of a first version."""
    return name in (FIRST, _FIRST_ANNEALED, _FIRST_PAPER)


def first_among(method: str, found: Collection[str]) -> str:
    """The same as `first_of` by the names of the first versions that there are."""
    strategy = _ALIGNED.get(method, method)
    if strategy not in _strategies():
        return FIRST
    own = _FIRST_ANNEALED if anneals(strategy) else _FIRST_PAPER
    return own if own in found else FIRST


def settings_for(method: str, settings: Settings) -> Settings:
    """What a method, or the training of a first version, runs with."""
    strategy = strategy_of(method, settings)
    if strategy is not None:
        return _with(settings, strategy, settings.training.annealing)
    if method == SCRATCH:
        annealing = settings.training.annealing
        return _with(settings, _REMEMBERING, ANNEALING if annealing is None else annealing)
    trained_for = {_FIRST_ANNEALED: ANNEALING, _FIRST_PAPER: 0.0}
    if method == FIRST or method in trained_for:
        annealing = _annealing(settings, settings.update.strategy)
        if settings.training.annealing is None:
            annealing = trained_for.get(method, annealing)
        # All strategies go on from it, so it keeps what only some of them need.
        return _with(settings, _REMEMBERING, annealing)
    return settings


@cache
def _strategies() -> tuple[str, ...]:
    return tuple(strategies())


def _annealing(settings: Settings, strategy: str) -> float:
    return annealing_of(settings.training, replace(settings.update, strategy=strategy))


def _with(settings: Settings, strategy: str, annealing: float | None) -> Settings:
    update = replace(settings.update, strategy=strategy)
    return replace(
        settings, update=update, training=replace(settings.training, annealing=annealing)
    )

"""The one way functions are compiled: kept on disk where there is a place that can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

__all__ = ["FAST", "compiled"]

FAST = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})
"""Sums may be reordered, but NaN and infinity stay what they are."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(
    fastmath: frozenset[str] = frozenset(), *, nogil: bool = False, inline: bool = False
) -> Callable[[_Function], _Function]:
    """Compile a function when it is first called; divisions are those of numpy.

    Args:
        fastmath: Liberties that the compiler may take, as LLVM calls them.
        nogil: Whether other threads may run meanwhile.
        inline: Whether it becomes part of every compiled function that calls it.
    """

    def decorate(function: _Function) -> _Function:
        def compile_(cache: bool) -> _Function:
            made = njit(
                error_model="numpy",
                fastmath=set(fastmath),
                nogil=nogil,
                forceinline=inline,
                cache=cache,
            )
            return cast("_Function", made(function))

        try:
            return compile_(True)
        except RuntimeError:  # numba finds no folder that it may write
            return compile_(False)

    return decorate

"""Compiles functions with numba, and caches them where only this user can write."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba import njit

from kgsync.common.kernel_folders import is_ours, private_folder
from kgsync.common.kernels import FAST

__all__ = ["FAST", "compile_function", "compiled"]

_log = logging.getLogger(__name__)
_Function = TypeVar("_Function", bound=Callable[..., Any])


def compiled(
    fastmath: frozenset[str] = frozenset(),
    *,
    nogil: bool = False,
    inline: bool = False,
    inner: bool = False,
) -> Callable[[_Function], _Function]:
    """Compile a function when it is first called; divisions are those of numpy.

    Args:
        fastmath: Liberties that the compiler may take, as LLVM calls them.
        nogil: Whether to release the GIL.
        inline: Whether it becomes part of every compiled function that calls it.
        inner: Whether only compiled functions call it: they are kept on disk with it in them.
    """

    def decorate(function: _Function) -> _Function:
        return compile_function(function, fastmath, nogil=nogil, inline=inline, inner=inner)

    return decorate


def compile_function(
    function: _Function,
    fastmath: frozenset[str],
    *,
    nogil: bool = False,
    inline: bool = False,
    inner: bool = False,
) -> _Function:
    """Compile an existing function; see `compiled`.

    Args:
        function: The function.
        fastmath: See `compiled`.
        nogil: See `compiled`.
        inline: See `compiled`.
        inner: See `compiled`.
    """

    def compile_(cache: bool) -> Any:
        options: dict[str, Any] = {
            # Half of the time of compiling a small function goes into ways to call it from outside.
            "no_cpython_wrapper": inner,
            "no_cfunc_wrapper": True,
        }
        if inner and (compiler := _part_compiler()):
            options["pipeline_class"] = compiler
        return njit(
            error_model="numpy",
            fastmath=set(fastmath),
            nogil=nogil,
            forceinline=inline,
            cache=cache,
            **options,
        )(function)

    if inner:
        return cast("_Function", compile_(False))
    for place in (nullcontext, _in_private_folder):
        with suppress(RuntimeError), place():  # numba finds no folder that it may write
            made = compile_(True)
            # Told not to compile, numba gives the function back; see `load_kernels`.
            if made is function or is_ours(Path(made.stats.cache_path)):
                return cast("_Function", made)
            _log.debug("%s is not only ours to write", made.stats.cache_path)
    _warn()
    return cast("_Function", compile_(False))


@cache
def _part_compiler() -> type | None:
    """A faster compiler of inner functions; None if this release of numba does not allow it."""
    try:
        from kgsync.common.inner_functions import PartCompiler
    except (ImportError, AttributeError, TypeError) as error:
        _log.debug("inner functions are compiled on their own: %r", error)
        return None
    return PartCompiler


@contextmanager
def _in_private_folder() -> Iterator[None]:
    """Let numba cache compiled code in a private folder of this user."""
    config: Any = numba.config
    folder, before = _private(), config.CACHE_DIR
    if folder is None:
        raise RuntimeError
    config.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        config.CACHE_DIR = before


@cache
def _private() -> Path | None:
    return private_folder()


@cache
def _warn() -> None:
    _log.warning(
        "every process compiles the kernels again: there is no cache folder that only this user "
        "can write; set NUMBA_CACHE_DIR to such a folder"
    )

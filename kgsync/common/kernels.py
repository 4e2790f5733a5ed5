"""Kernels: functions that are compiled when they are first needed, for one choice of their parts.

`@kernel(...)` only marks a function, so a file of kernels needs no compiler to be imported. A
kernel may call other kernels, and it may name a slot: a function or a constant that is chosen
later. `link` fills the slots and compiles what is left: no compiled code branches on a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

__all__ = ["FAST", "Kernel", "Slot", "kernel", "link"]

FAST = frozenset({"nsz", "arcp", "contract", "afn", "reassoc"})
"""Sums may be reordered, but NaN and infinity stay what they are."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Slot:
    """A placeholder in kernels that `link` fills."""

    def __init__(self, name: str) -> None:
        """Name it."""
        self.name = name


class Kernel:
    """A function that is compiled when it is first called."""

    def __init__(
        self, function: FunctionType, fastmath: frozenset[str], *, nogil: bool, inline: bool
    ) -> None:
        """Mark a function; see `kgsync.common.compiled.compiled` for the options."""
        self.function = function
        self.fastmath, self.nogil, self.inline = fastmath, nogil, inline

    def __call__(self, *values: Any) -> Any:
        """Call the compiled function; it has no slots."""
        return self.dispatcher(*values)

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object, if the kernel has no slots."""
        (made,) = link([self], {}, "")
        return made


def kernel(
    fastmath: frozenset[str] = frozenset(), *, nogil: bool = False, inline: bool = False
) -> Callable[[_Function], _Function]:
    """Mark a function as a kernel.

    Args:
        fastmath: Liberties that the compiler may take, as LLVM calls them.
        nogil: Whether to release the GIL.
        inline: Whether it becomes part of every kernel that calls it.
    """

    def decorate(function: _Function) -> _Function:
        plain = cast("FunctionType", function)
        return cast("_Function", Kernel(plain, fastmath, nogil=nogil, inline=inline))

    return decorate


def link(entries: Sequence[Any], parts: Mapping[str, Any], label: str) -> list[Any]:
    """Compile kernels, and all that they call, with these parts in the slots.

    Nothing is compiled before the first call. What is compiled is kept on disk under the label, so
    that each choice of parts must have a label of its own.

    Args:
        entries: The kernels to call.
        parts: What each slot stands for: a kernel, or a constant.
        label: A name for the choice of parts; empty if there are no slots.

    Raises:
        KeyError: A slot has no part.
    """
    from kgsync.common.compiled import compile_function

    made: dict[Kernel, Any] = {}

    def resolved(value: Any) -> Any:
        while isinstance(value, Slot):
            value = parts[value.name]
        return compiled(value, inner=True) if isinstance(value, Kernel) else value

    def compiled(each: Kernel, *, inner: bool) -> Any:
        if each not in made:
            function = each.function
            names = set(_names(function.__code__)) & set(function.__globals__)
            scope = {name: resolved(function.__globals__[name]) for name in names}
            copy = FunctionType(
                function.__code__,
                {**function.__globals__, **scope},
                function.__name__,
                function.__defaults__,
            )
            # Numba keeps the files of compiled functions apart by this name.
            copy.__qualname__ = (
                f"{function.__qualname__}-{label}" if label else function.__qualname__
            )
            copy.__module__ = function.__module__
            made[each] = compile_function(
                copy, each.fastmath, nogil=each.nogil, inline=each.inline, inner=inner
            )
        return made[each]

    return [compiled(entry, inner=False) for entry in entries]


def _names(code: CodeType) -> Iterator[str]:
    """Global names that a function may use."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)

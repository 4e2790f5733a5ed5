"""What the kernels of a model that was registered from outside depend on.

The texts of kgsync say nothing about them, so a digest of what they are made of becomes part of
the names of their files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from kgsync.common.kernels import Kernel, Slot
from kgsync.models import MODELS
from kgsync.models.losses import LOSSES
from kgsync.models.optimizers import OPTIMIZERS

__all__ = ["digest_of_plugin", "modules_of_plugin"]

_PACKAGE = Path(__file__).parents[2]


def digest_of_plugin(name: str) -> str:
    """A name for the kernels of a model as they are written now.

    It is made of the files of all functions that they call, of the constants that these use, and of
    what the model declares.
    """
    declared = MODELS[name]
    shared = {**LOSSES[declared.loss].kernels, **OPTIMIZERS[declared.optimizer].kernels}
    parts = {**shared, **(declared.kernels or {})}
    chosen = {slot: f"{f.__module__}.{f.__qualname__}" for slot, f in _chosen(parts)}
    said = [name, declared.loss, declared.optimizer, declared.steps_by_pair, sorted(chosen.items())]
    digest = sha256(repr(said).encode())
    functions = list(_called(parts.values()))
    for text in sorted({_text_of(function) for function in functions}):
        digest.update(text)
    for constant in sorted({_shown(value) for f in functions for value in _used(f).items()}):
        digest.update(constant.encode())
    return digest.hexdigest()[:12]


def modules_of_plugin(name: str) -> list[str]:
    """The modules that another process must import to know a model."""
    parts = MODELS[name].kernels or {}
    found = {MODELS[name].model.__module__, *(f.__module__ for f in _called(parts.values()))}
    return sorted(module for module in found if not module.startswith("kgsync."))


def _chosen(parts: dict[str, Any]) -> Iterator[tuple[str, FunctionType]]:
    return ((slot, each.function) for slot, each in parts.items() if isinstance(each, Kernel))


def _called(values: Iterable[Any]) -> Iterator[FunctionType]:
    """The functions of kernels, with all that they call, each once."""
    seen: set[FunctionType] = set()
    left = list(values)
    while left:
        function = _function(left.pop())
        if function is not None and function not in seen:
            seen.add(function)
            left += _used(function).values()
            yield function


def _function(value: Any) -> FunctionType | None:
    if isinstance(value, Kernel):
        return value.function
    plain = getattr(value, "py_func", value)  # as numba calls what it has compiled
    return plain if isinstance(plain, FunctionType) else None


def _used(function: FunctionType) -> dict[str, Any]:
    """What a function names, as far as it is not its own."""
    known = function.__globals__
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    return {name: known[name] for name in names & known.keys()}


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _text_of(function: FunctionType) -> bytes:
    """The file of a function, or the function itself if it is in none."""
    path = Path(function.__code__.co_filename)
    if path.is_relative_to(_PACKAGE):  # one name stands for all texts of kgsync
        return b""
    try:
        return path.read_bytes()
    except OSError:
        plain = [
            (
                code.co_code,
                code.co_names,
                [c for c in code.co_consts if not isinstance(c, CodeType)],
            )
            for code in _codes(function.__code__)
        ]
        return repr(plain).encode()


def _shown(named: tuple[str, Any]) -> str:
    """A constant that becomes part of the machine code; empty for everything else."""
    name, value = named
    if isinstance(value, ModuleType | Slot | type) or _function(value) is not None:
        return ""
    if hasattr(value, "tobytes"):  # of numpy
        return f"{name} {value.dtype} {value.shape} {value.tobytes().hex()}"
    return f"{name} {value!r}" if isinstance(value, int | float | str | tuple) else ""

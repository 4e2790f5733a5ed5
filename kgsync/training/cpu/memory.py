"""What numba does not offer: arrays without counts of references, and fetching memory ahead."""

from __future__ import annotations

from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from kgsync.training.cpu.layout import inlined

__all__ = ["borrow", "fetch", "prefetch"]

_LINE = 16  # singles per cache line
_MOST = 8  # lines of a row to ask for; the processor sees the rest coming


def _borrow(_context: Any, given: Any) -> Any:
    """The same arrays, also those in tuples, without counts of references: views cost nothing.

    For a kernel's own use, while its caller holds them.
    """

    def uncounted(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _uncounted(context, builder, signature.args[0], values[0])

    return given(given), uncounted


borrow: Any = intrinsic(_borrow)


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        parts = [
            _uncounted(context, builder, part, builder.extract_value(value, at))
            for at, part in enumerate(cast("Any", kind))
        ]
        return context.make_tuple(builder, kind, parts)
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    array.meminfo = array.meminfo.type(None)
    array.parent = array.parent.type(None)
    return array._getvalue()


@inlined
def fetch(table: Any, row: Any, to_write: Any = False) -> None:
    """Ask for a row that is needed soon, for this core alone if it is to be written."""
    width = table.shape[1]
    for column in range(0, min(width, _MOST * _LINE), _LINE):
        _fetch_line(table, row * width + column, to_write)
    if width:
        _fetch_line(table, row * width + min(width, _MOST * _LINE) - 1, to_write)


@inlined
def _fetch_line(table: Any, at: Any, to_write: Any) -> None:
    if to_write:
        _prefetch_to_write(table, at)
    else:
        prefetch(table, at)


def _read_soon(_context: Any, table: Any, _at: Any) -> Any:
    """Have the cache line of a number of a contiguous array fetched, by its flat position."""

    def ask(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _ask(context, builder, signature, values, to_write=0)

    return types.void(table, types.int64), ask


def _write_soon(_context: Any, table: Any, _at: Any) -> Any:
    """The same, and other cores lose theirs: later, the first number written would wait for it."""

    def ask(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _ask(context, builder, signature, values, to_write=1)

    return types.void(table, types.int64), ask


def _ask(context: Any, builder: Any, signature: Any, values: Any, to_write: int) -> Any:
    array = context.make_array(signature.args[0])(context, builder, values[0])
    pointer = builder.bitcast(builder.gep(array.data, [values[1]]), ir.IntType(8).as_pointer())
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
    function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
    builder.call(function, [pointer, number(to_write), number(3), number(1)])  # keep it, data
    return context.get_dummy_value()


prefetch: Any = intrinsic(_read_soon)
_prefetch_to_write: Any = intrinsic(_write_soon)

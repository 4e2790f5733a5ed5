"""What numba does not offer: arrays without counts of references, and fetching memory ahead."""

from __future__ import annotations

from typing import Any, cast

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from kgsync.training.cpu.layout import inlined

__all__ = ["borrow", "fetch", "prefetch"]

_LINE = 16  # singles a cache line
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
def fetch(table: Any, row: Any) -> None:
    """Ask for a row that is needed soon."""
    width = table.shape[1]
    for column in range(0, min(width, _MOST * _LINE), _LINE):
        prefetch(table, row * width + column)
    if width:
        prefetch(table, row * width + min(width, _MOST * _LINE) - 1)


def _prefetch(_context: Any, table: Any, _at: Any) -> Any:
    """Have the cache line of a number of a contiguous array fetched, by its flat position."""

    def ask(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        pointer = builder.bitcast(builder.gep(array.data, [values[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        builder.call(function, [pointer, number(0), number(3), number(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(table, types.int64), ask


prefetch: Any = intrinsic(_prefetch)

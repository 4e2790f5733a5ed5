"""How numba compiles a function that only other compiled functions call.

Its intermediate code is all that they need: it becomes part of theirs. Numba would also make
machine code of it, which nobody calls, and that took a sixth of the time of compiling.

This uses what numba does not promise to keep. Where a release of numba differs, functions are
compiled as numba does it by itself: `kgsync.common.compiled` does without this file if it cannot be
imported, and what fails later is done again without it.
"""

from __future__ import annotations

import logging
from typing import Any, cast

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["PartCompiler"]

_log = logging.getLogger(__name__)


class _Part(JITCodeLibrary):
    """Optimised intermediate code, to be linked into others."""

    def _finalize_final_module(self) -> None:
        """As numba does it, but for the machine code."""
        library: Any = self
        library._finalize_dynamic_globals()
        library._verify_declare_only_symbols()
        self._finalized = True


class _LowerPart(NativeLowering):
    """Numba's last large pass, into such a part."""

    _name = "kgsync_part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower a function, as numba does it if need be."""
        library, no_compile = state.library, state.flags.no_compile
        try:
            self._lower(state)
        except Exception as error:  # noqa: BLE001
            # Whatever it is; an error of the function itself comes again.
            _log.debug("%s is compiled on its own: %r", state.func_id.func_qualname, error)
            state.library, state.flags.no_compile = library, no_compile
            cast("Any", super()).run_pass(state)
        return True

    def _lower(self, state: Any) -> None:
        context, kind = state.targetctx, cast("Any", _Part)
        part = state.library = kind(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        cast("Any", super()).run_pass(state)
        part.finalize()  # here, and not when a caller is compiled, where an error would be too late
        lowered = state["cr"]
        made = lowered.fndesc
        # Numba knows a compiled function by the object that Python would call; nobody calls it.
        key = _dynfunc.make_function(
            made.lookup_module(), made.qualname, "", 0, lowered.env, (part,)
        )
        context.insert_user_function(key, made, [part])
        state["cr"] = lowered._replace(cfunc=key)


cast("Any", register_pass)(mutates_CFG=True, analysis_only=False)(_LowerPart)


class PartCompiler(Compiler):
    """Numba's compiler with that pass."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own passes in their order, one of them replaced."""
        try:
            return self._with_parts()
        except Exception as error:  # noqa: BLE001
            _log.debug("functions are compiled on their own: %r", error)
            return cast("list[Any]", cast("Any", super()).define_pipelines())

    def _with_parts(self) -> list[Any]:
        manager = cast("Any", DefaultPassBuilder).define_nopython_pipeline(self.state)
        manager.passes = [
            (_LowerPart if each is NativeLowering else each, purpose)
            for each, purpose in manager.passes
        ]
        manager.finalize()
        return [manager]

"""How numba compiles a function that only other compiled functions call.

Its intermediate code is all that they need: it becomes part of theirs. Numba would also make
machine code of it, which nobody calls, and that took a sixth of the time of compiling.
"""

from __future__ import annotations

from typing import Any, cast

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["PartCompiler"]


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
        """Lower a function."""
        context, kind = state.targetctx, cast("Any", _Part)
        part = state.library = kind(context.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        cast("Any", super()).run_pass(state)
        lowered = state["cr"]
        made = lowered.fndesc
        # Numba knows a compiled function by the object that Python would call; nobody calls it.
        key = _dynfunc.make_function(
            made.lookup_module(), made.qualname, "", 0, lowered.env, (part,)
        )
        context.insert_user_function(key, made, [part])
        state["cr"] = lowered._replace(cfunc=key)
        return True


cast("Any", register_pass)(mutates_CFG=True, analysis_only=False)(_LowerPart)


class PartCompiler(CompilerBase):
    """Numba's compiler with that pass."""

    def define_pipelines(self) -> list[Any]:
        """Numba's own passes in their order, one of them replaced."""
        manager = cast("Any", DefaultPassBuilder).define_nopython_pipeline(self.state)
        manager.passes = [
            (_LowerPart if each is NativeLowering else each, purpose)
            for each, purpose in manager.passes
        ]
        manager.finalize()
        return [manager]

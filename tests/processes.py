"""Processes of their own that start fast: forks of a process that has imported everything.

To import torch takes longer than what most tests do with it. The forks share nothing with the tests
but the imports: a kill, an exit code, a working directory and the files of a process are real.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

_IMPORTED = [
    "kgsync.cli.app",
    "kgsync.sync",
    "kgsync.training.cpu.compiling",
    "kgsync.training.learning",
    "pyoxigraph",
    "pytest",
    "rdflib",
    "tests.worlds",
    __name__,
]
_LONGEST = 120.0


def forks() -> ForkServerContext:
    """Where processes are forked from one that has imported kgsync and torch."""
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTED)
    return context


def exit_code(target: Callable[..., None], *arguments: Any) -> int:
    """How a process ended that called a function of a module; negative if by a signal."""
    child = forks().Process(target=target, args=arguments)
    child.start()
    child.join(_LONGEST)
    if child.exitcode is None:
        child.kill()
        child.join()
        raise TimeoutError(f"{target.__name__} took more than {_LONGEST:g} s")
    return child.exitcode


def python(code: str, *arguments: str) -> int:
    """How `python -c` ended."""
    return exit_code(_execute, code, arguments)


def kgsync(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m kgsync` in a folder."""
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        code = exit_code(_command, folder, arguments, out, err)
        texts = (path.read_text(encoding="utf-8") for path in (out, err))
        return subprocess.CompletedProcess(["kgsync", *arguments], code, *texts)


def _execute(code: str, arguments: tuple[str, ...]) -> None:
    sys.argv = ["-c", *arguments]
    exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})


def _command(folder: Path, arguments: tuple[str, ...], out: Path, err: Path) -> None:
    os.chdir(folder)
    for number, path in ((1, out), (2, err)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    # The streams of a new interpreter: the old ones know what they were connected to.
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", closefd=False)
    sys.argv = ["kgsync", *arguments]
    runpy.run_module("kgsync", run_name="__main__", alter_sys=True)

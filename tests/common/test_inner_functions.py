"""Inner functions are compiled by numba alone where the faster way is not open."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.thinning import thinned

ROOT = Path(__file__).parents[2]
SCRIPT = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
logging.getLogger("numba").setLevel(logging.WARNING)
BREAK
from math import exp
import numpy as np
from kgsync.common.kernels import FAST, Slot, kernel, link
part = Slot("part")

@kernel(FAST)
def square(row):
    return part(row) * part(row)

@kernel(FAST, inline=True)
def total(row):
    found = np.float32(0)
    for i in range(len(row)):
        found += row[i]
    return found

@kernel(FAST, nogil=True)
def outer(row, times):
    found = 0.0
    for _ in range(times):
        found += square(row)
    return found + exp(0.0)

(made,) = link([outer], {"part": total}, "test")
assert made(np.arange(4, dtype=np.float32), 2) == 2 * 36 + 1
print(sum(made.stats.cache_misses.values()), sum(made.stats.cache_hits.values()))
"""
WAYS = {
    "as it is": ("", None),
    "the file cannot be imported": (
        "sys.modules['kgsync.common.inner_functions'] = None",
        "inner functions are compiled on their own",
    ),
    "a private module of numba is gone": (
        "import numba\ndel numba._dynfunc\nsys.modules['numba._dynfunc'] = None",
        "inner functions are compiled on their own: ModuleNotFoundError",
    ),
    "a private class of numba is gone": (
        "import numba.core.codegen as codegen\ndel codegen.JITCodeLibrary",
        "inner functions are compiled on their own: ImportError",
    ),
    "a private method of a library is gone": (
        "from kgsync.common.inner_functions import _Part\n_Part._finalize_dynamic_globals = None",
        "total-test is compiled on its own: TypeError",
    ),
    "functions are made otherwise": (
        "import kgsync.common.inner_functions as inner\ninner._dynfunc = object()",
        "total-test is compiled on its own: AttributeError",
    ),
    "passes are listed otherwise": (
        "import kgsync.common.inner_functions as inner\ninner.DefaultPassBuilder = object()",
        "functions are compiled on their own: AttributeError",
    ),
}


@pytest.mark.parametrize(
    "way", thinned(WAYS, lambda way: way in ("as it is", "a private class of numba is gone"))
)
def test_kernels_are_compiled_and_kept_in_any_case(way: str, tmp_path: Path) -> None:
    breaking, said = WAYS[way]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("BREAK", breaking))
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o700)
    for counts in ("1 0", "0 1"):
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == counts
        if counts == "1 0":
            assert (said or "") in done.stderr
            assert bool(said) == ("on its own" in done.stderr or "on their own" in done.stderr)

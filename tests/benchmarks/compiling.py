"""CPU seconds of the "compile" phase for every model: with an empty cache, and the next time.

Each model has a cache of its own, so every row pays for everything it needs. The time to import
kgsync and torch does not count; that of the process that compiles does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from kgsync.models import MODELS
from tests.benchmarks.table import aligned, machine

_CODE = """
import resource, sys
from kgsync import Settings
from kgsync.config import ModelSettings
from kgsync.training.backends import warm_up
import torch, numba, kgsync.training.cpu.compiling

def cpu():
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(one)[:2]) for one in who)

settings = Settings(model=ModelSettings(sys.argv[1]))
before = cpu()
warm_up(settings)
print(cpu() - before)
"""


def main() -> None:
    """Measure and print."""
    print(machine())
    rows: list[tuple[str, ...]] = [("model", "cold CPU s", "warm CPU s")]
    for name in MODELS:
        with tempfile.TemporaryDirectory() as cache:
            rows.append((name, *(f"{_seconds(name, cache):.1f}" for _ in range(2))))
    print(aligned(rows))


def _seconds(name: str, cache: str) -> float:
    command = [sys.executable, "-c", _CODE, name]
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


if __name__ == "__main__":
    main()

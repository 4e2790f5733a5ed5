"""One thread and two, in the same rounds, and how far the two cores are apart."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.benchmarks.table import aligned
from tests.benchmarks.training.throughput import (
    HEAD,
    KGSYNC,
    PAIR,
    PYKEEN,
    TITLE,
    Contestant,
    measure,
    row,
)

__all__ = ["table"]

_SOURCE = Path(__file__).parents[1] / "core_to_core.c"
_CASES = {"transe": (KGSYNC, PAIR, PYKEEN), "distmult": (KGSYNC, PYKEEN), "transh": (KGSYNC,)}


def table(work: Path, seconds: float, epochs: int, repeat: int) -> str:
    """Rates and their ratios: those of two threads depend on what the cores share."""
    rows, scaling = [HEAD], []
    for model, names in _CASES.items():
        contestants: list[Contestant] = [(name, threads) for name in names for threads in (1, 2)]
        found = measure(work, model, contestants, seconds, epochs, repeat)
        rows += [row(model, one, found) for one in contestants]
        for name in names:
            one, two = found.get((name, 1)), found.get((name, 2))
            if one and two:
                scaling.append(f"{model}, {name} {two['rate'] / one['rate']:.2f}")
    title = TITLE.format("One thread and two", repeat, epochs)
    said = f"Two threads ÷ one: {'; '.join(scaling)}. {_distance(work)}"
    return f"### {title}\n\n{aligned(rows)}\n\n{said}\n"


def _distance(work: Path) -> str:
    program = str(work / "core_to_core")
    try:
        compiler = ["gcc", "-O2", str(_SOURCE), "-lpthread", "-o", program]
        subprocess.run(compiler, check=True, capture_output=True)
        done = subprocess.run([program], check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:  # no gcc, no Linux, or one core only
        return f"How far the cores are apart is not known: {error}."
    return f"A number written by one core is read by the other {float(done.stdout):.0f} ns later."

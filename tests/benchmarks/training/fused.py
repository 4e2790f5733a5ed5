"""A yardstick: TransE-L1 as a fused loop in C, beside kgsync on the same data."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone, typical
from tests.benchmarks.training.fb15k import load
from tests.benchmarks.training.throughput import KGSYNC, PAIR, train

__all__ = ["table"]

_SOURCE = Path(__file__).parents[1] / "fused_transe.c"
_RATE = 0.001
_LONG = 600.0


def table(work: Path, epochs: int, repeat: int) -> str:
    """Pairs a second of both, over the same epochs, and kgsync's share."""
    title = f"### A fused C loop, TransE-L1, one thread: median of {repeat} × {epochs} epochs\n\n"
    compiler = shutil.which("gcc")
    if compiler is None:
        return f"{title}Skipped: there is no gcc.\n"
    program = work / "fused_transe"
    command = [compiler, "-O3", "-march=native", "-ffast-math", str(_SOURCE), "-lm"]
    subprocess.run([*command, "-o", str(program)], check=True)
    arguments: dict[str, Any] = {"work": str(work), "model": "transe", "epochs": epochs}
    runs: dict[str, list[Numbers]] = {"fused C loop": [], PAIR: [], KGSYNC: []}
    for _ in range(repeat):
        for name, found in runs.items():
            if name in (KGSYNC, PAIR):
                run = alone(train, seconds=_LONG, contestant=name, **arguments)
            else:
                run = _run(program, work, epochs)
            if run:
                found.append(run)
    fused = typical(runs["fused C loop"], "rate")
    rows = [["", "pairs/s", "÷ C loop"]]
    for name, found in runs.items():
        rate = typical(found, "rate")["rate"] if found else 0.0
        rows.append([name, f"{rate:,.0f}", f"{rate / fused['rate']:.2f}"])
    said = f"{fused['violated']:.0%} of the loop's pairs violated the margin and took a step."
    return f"{title}{aligned(rows)}\n\n{said}\n"


def _run(program: Path, work: Path, epochs: int) -> Numbers:
    graph = load(str(work))
    file = work / "triples.bin"
    np.ascontiguousarray(graph.train.T, np.int32).tofile(file)
    sizes = (graph.train.shape[1], graph.entities, graph.relations, epochs, _RATE)
    command = [str(program), str(file), *map(str, sizes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rate, violated = map(float, done.stdout.split())
    return {"rate": rate, "violated": violated}

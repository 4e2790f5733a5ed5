"""The update procedure at the sizes the paper names: time and memory, each in its own process.

`python -m tests.benchmarks.procedure` prints one line a job.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable

from tests.benchmarks.table import machine


def order() -> str:
    """The initialisation order of 100,000 new elements in 500,000 added triples."""
    import numpy as np

    from kgsync.training.initial.order import initialization_order

    old, new, relations, count = 200_000, 100_000, 200, 500_000
    random = np.random.default_rng(0)
    anyone = random.integers(0, old + new, count)
    newcomer = random.integers(old, old + new, count)
    swap = random.random(count) < 0.5
    heads, tails = np.where(swap, anyone, newcomer), np.where(swap, newcomer, anyone)
    triples = np.stack([heads, random.integers(0, relations, count), tails])
    fresh = np.arange(old, old + new), np.arange(relations - 2, relations)
    start = time.perf_counter()
    found = initialization_order(triples, *fresh)
    seconds = time.perf_counter() - start
    depth = max(element.depth for element in found)
    return f"{seconds:.1f} s for {len(found):,} elements, {depth:,} deep"


def stability(sample: int = 0) -> str:
    """NMC of 277,002 vectors of 100 numbers, as many as the paper ran out of memory on."""
    from kgsync.training.threads import use_threads

    use_threads(0)  # before torch is loaded: idle threads sleep
    import numpy as np
    import torch

    from kgsync.evaluation.stability import normalized_mean_change

    generator = torch.Generator().manual_seed(0)
    old = torch.randn(277_002, 100, generator=generator)
    new = old + 0.1 * torch.randn(277_002, 100, generator=generator)
    start = time.perf_counter()
    found = normalized_mean_change(old, new, np.random.default_rng(0), sample=sample)
    seconds = time.perf_counter() - start
    return f"{seconds:.1f} s, NMC {found.nmc:.6e} ± {found.error:.1e}"


def sampled_stability() -> str:
    """The same, estimated from 1,000 of them."""
    return stability(sample=1000)


JOBS: dict[str, Callable[[], str]] = {
    function.__name__: function for function in (order, stability, sampled_stability)
}


def main() -> None:
    """Run one job here, or all of them in processes of their own."""
    if len(sys.argv) > 1:
        result = JOBS[sys.argv[1]]()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{result}; peak {peak:,.0f} MB")
        return
    print(machine())
    for name, function in JOBS.items():
        print(f"{function.__doc__} ", end="", flush=True)
        subprocess.run([sys.executable, "-m", __spec__.name, name], check=True)


if __name__ == "__main__":
    main()

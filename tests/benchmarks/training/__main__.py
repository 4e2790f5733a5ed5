"""Compare kgsync with PyKEEN, TorchKGE and a loop in C; see `--help`."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.table import machine
from tests.benchmarks.training import (
    change,
    fused,
    growth,
    quality,
    race,
    ranking,
    retraining,
    scaling,
    throughput,
    update,
)
from tests.benchmarks.training.fb15k import prepare
from tests.benchmarks.training.throughput import MODELS

_LIBRARIES = ("kgsync", "numba", "numpy", "torch", "pykeen", "torchkge")

Part = Callable[[Path, argparse.Namespace], str]

PARTS: dict[str, Part] = {
    "throughput": lambda work, o: throughput.table(work, o.models, o.seconds, o.epochs, o.repeat),
    "scaling": lambda work, o: scaling.table(work, o.seconds, o.epochs, o.repeat),
    "fused": lambda work, o: fused.table(work, o.epochs, o.repeat),
    "ranking": lambda work, o: ranking.table(
        work, o.models, o.seconds, o.repeat, o.tested, o.epochs
    ),
    "quality": lambda work, o: quality.table(
        work, o.models, o.quality_epochs, o.rate, 5 * o.tested, o.seeds
    ),
    "race": lambda work, o: race.table(work, o.threads, o.their_epochs, 5 * o.tested),
    "growth": lambda work, o: growth.table(o.size, o.seconds, o.threads),
    "change": lambda work, o: change.table(work, 5 * o.tested, o.their_seconds),
    "update": lambda work, o: update.table(o.size, o.share, o.threads, o.old_epochs, o.steps),
    "retraining": lambda work, o: retraining.table(
        work, "transe", o.threads, o.scratch_epochs, o.tested
    ),
}


def main() -> None:
    """Measure the chosen parts and print one table each."""
    options = _options()
    print(machine(_LIBRARIES), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        prepare(work, options.triples)
        for name in options.parts or PARTS:
            print(PARTS[name](work, options), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.training",
        description="Speed, memory and quality of training, each contestant in a fresh process.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all if none is named")
    add("--repeat", type=int, default=3, help="runs, of which the median is shown")
    add("--seconds", type=float, default=5.0, help="how long to time an epoch loop or a ranking")
    add("--epochs", type=int, default=10, help="timed at most, and before metrics are compared")
    add("--triples", type=int, default=0, help="train on so many triples of FB15K; 0 for all")
    add("--tested", type=int, default=1000, help="triples to validate and compare metrics on")
    add("--threads", type=int, default=2, help="of race, growth, update and retraining")
    add("--steps", choices=("batch", "pair"), default="batch", help="of update")
    add("--size", type=float, default=1.0, help="share of the size of invented graphs")
    add("--share", type=float, default=1.0, help="share of the update's epochs; others are guessed")
    add("--old-epochs", type=int, default=20, help="training of the version that is updated")
    add("--scratch-epochs", type=int, default=1000, help="at most so many when retraining")
    add(
        "--models",
        nargs="+",
        default=MODELS,
        choices=MODELS,
        help="those of throughput, ranking and quality",
    )
    add("--quality-epochs", type=int, default=20, help="of the quality part")
    add("--seeds", type=int, default=3, help="of the quality part")
    add("--rate", type=float, default=0.0, help="learning rate of quality; 0 for the paper's")
    add("--their-seconds", type=float, default=1800.0, help="of PyKEEN at most, in change")
    add("--their-epochs", type=int, default=6, help="of PyKEEN, the time given in the race")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; parts: {', '.join(PARTS)}")
    return options


if __name__ == "__main__":
    main()

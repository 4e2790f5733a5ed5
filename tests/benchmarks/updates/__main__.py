"""Run the contests; see the package."""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from kgsync.models import MODELS
from kgsync.training.threads import use_threads
from tests.benchmarks.updates.chains import CHAINS, Chain
from tests.benchmarks.updates.figure import draw
from tests.benchmarks.updates.methods import FIRST, Contest, method_names
from tests.benchmarks.updates.summary import summary

_DATA = Path(__file__).parents[4] / "shared" / "data"
_RECORDS = Path(__file__).parent / "records"


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", nargs="+", default=["fb15k", "nomisma"], choices=list(CHAINS))
    parser.add_argument("--models", nargs="+", default=["transe"], choices=sorted(MODELS))
    parser.add_argument("--methods", nargs="+", default=method_names(), choices=method_names())
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--last", type=int, default=100, help="last version")
    parser.add_argument("--size", type=int, default=5000, help="test triples to rank")
    parser.add_argument("--out", type=Path, default=_RECORDS)
    parser.add_argument("--quick", action="store_true", help="two versions of nomisma, not kept")
    parser.add_argument("--summary", action="store_true", help="only print the tables")
    parser.add_argument("--figure", type=Path, help="draw quality against cost, and nothing else")
    given = parser.parse_args()
    if given.figure:
        draw(given.out, given.chains, given.models, given.figure)
        return
    if given.quick:
        with tempfile.TemporaryDirectory() as folder:
            given.chains, given.last, given.out = ["nomisma"], 2, Path(folder)
            _run(given)
            print(summary(given.out))
        return
    if not given.summary:
        _run(given)
    print(summary(given.out))


def _run(given: argparse.Namespace) -> None:
    use_threads(1)
    data = Path(os.environ.get("KGSYNC_TEST_DATA", _DATA))
    for name in given.chains:
        chain = Chain.load(name, data)
        last = min(given.last, len(chain.versions) - 1)
        for model in given.models:
            for seed in given.seeds:
                contest = Contest(chain, model, seed, given.out, given.size)
                for method in [FIRST, *given.methods]:
                    contest.run(method, last)


if __name__ == "__main__":
    main()

"""An update after a change of 1 % beside PyKEEN, which trains from scratch until it is as good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.benchmarks.table import aligned
from tests.benchmarks.training.child import Numbers, alone

__all__ = ["retrain", "table", "update"]

_CHAIN, _VERSION = "fb15k-quick", 2
"""Changes of .1 % and then of 1 %."""
_OPTIMIZERS = ("as kgsync", "Adam")


def update(threads: int, work: str, tested: int) -> Numbers:
    """Train the first version, follow two changes, and leave the last version for PyKEEN."""
    import numpy as np

    from kgsync.graph.split import persistent_sample
    from kgsync.training.threads import use_threads
    from tests.benchmarks.training.fb15k import data_folder
    from tests.benchmarks.updates.chains import Chain
    from tests.benchmarks.updates.methods import FIRST, Contest

    use_threads(threads)
    chain = Chain.load(_CHAIN, data_folder())
    contest = Contest(chain, "transe", 0, Path(work) / "updates", tested)
    contest.run(FIRST, 0)
    contest.run("auto", _VERSION)
    problem = chain.problem(_VERSION, contest.settings("auto"))
    test = problem.split.test
    sample = persistent_sample(test, problem.terms, tested)
    parts = {
        "train": problem.train,
        "valid": problem.active.rows(problem.split.validation),
        "test": np.concatenate(
            [problem.active.rows(part) for part in (sample, test.minus(sample))], axis=1
        ),
    }
    np.savez(Path(work) / "changed.npz", allow_pickle=False, **parts)
    found = contest.record("auto", _VERSION)
    return {name: found[name] for name in ("cpu_seconds", "mrr", "changed", "train", "tested")}


def retrain(
    threads: int, work: str, optimizer: str, wanted: float, tested: int, seconds: float
) -> Numbers:
    """Train PyKEEN's TransE until it ranks as well on the same triples, or for so many seconds."""
    from tests.benchmarks.training import pykeen_
    from tests.benchmarks.training.fb15k import load

    graph = load(work, "changed")
    return dict(pykeen_.train_until(graph, threads, optimizer == "Adam", wanted, tested, seconds))


def table(work: Path, tested: int, seconds: float) -> str:
    """Processor seconds and quality of both."""
    title = "### TransE on FB15K after a change of 1 %: an update, and PyKEEN from scratch"
    ours = alone(update, work=str(work), tested=tested)
    if ours is None:
        return f"{title}\n\nFailed.\n"
    rows = [
        ["", "optimiser", "epochs", "CPU s", "filtered MRR", "÷ update"],
        ["kgsync, auto", "SGD", "", f"{ours['cpu_seconds']:.1f}", f"{ours['mrr']:.3f}", "1"],
    ]
    for optimizer in _OPTIMIZERS:
        given: dict[str, Any] = {"wanted": ours["mrr"], "tested": tested, "seconds": seconds}
        theirs = alone(retrain, work=str(work), optimizer=optimizer, **given)
        if theirs is None:
            return f"{title}\n\nFailed.\n"
        more = "" if theirs["mrr"] >= ours["mrr"] else "more than "
        rows.append(
            [
                "PyKEEN",
                optimizer,
                f"{theirs['epochs']:.0f}",
                f"{theirs['cpu_seconds']:.1f}",
                f"{theirs['mrr']:.3f}",
                f"{more}{theirs['cpu_seconds'] / ours['cpu_seconds']:.0f}",
            ]
        )
    about = (
        f"{ours['changed']:,.0f} of {ours['train']:,.0f} triples changed; {ours['tested']:,.0f} "
        f"test triples. PyKEEN is stopped after {seconds:,.0f} s; its evaluations are not counted."
    )
    return f"{title}\n\n{aligned(rows)}\n\n{about}\n"

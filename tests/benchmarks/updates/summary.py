"""The records in tables: every method against retraining, mean and worst over chains and seeds.

MRR, also by side and without the query that is asked most often: "mean / worst version". Triples
near the change, added and deleted ones are pooled. Rewritten: rows whose bits changed, as a share
of those that the change touches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.table import aligned
from tests.benchmarks.updates.records import Record, every_record

__all__ = ["Rows", "compared", "contests", "pooled", "summary"]

_BASE = "scratch"
Rows = list[tuple[Record, Record]]
"""A record of a method, and that of retraining the same version with the same seed."""


def summary(folder: Path) -> str:
    """A table per chain and model: a method a row."""
    records = every_record(folder)
    return "\n\n".join(_table(records, *contest) for contest in contests(records))


def contests(records: Iterable[Record]) -> list[tuple[str, str]]:
    """The chains and models that there are records of."""
    return sorted({(each["chain"], each["model"]) for each in records})


def compared(records: Iterable[Record], chain: str, model: str) -> dict[str, Rows]:
    """The records of each method, as far as retraining has been measured."""
    mine = [each for each in records if (each["chain"], each["model"]) == (chain, model)]
    base = {_key(each): each for each in mine if each["method"] == _BASE}
    methods: dict[str, Rows] = defaultdict(list)
    for each in mine:
        if _key(each) in base and each["version"]:
            methods[each["method"]].append((each, base[_key(each)]))
    return dict(sorted(methods.items()))


def pooled(pairs: Rows, name: str) -> float | None:
    """MRR over the triples of all versions together, as a share of that of retraining."""
    sums = np.zeros(2)
    for mine, theirs in pairs:
        if name in mine and name in theirs:
            weights = mine[f"{name}_triples"], theirs[f"{name}_triples"]
            sums += np.multiply(weights, (mine[name], theirs[name]))
    return float(sums[0] / sums[1]) if sums[1] else None


def _table(records: Iterable[Record], chain: str, model: str) -> str:
    methods = compared(records, chain, model)
    paper = {_key(each): each["scores"] for each, _ in methods.get("paper", [])}
    head = (
        *("method", "seeds", "versions", "MRR", "heads", "tails", "other queries", "near"),
        *("added", "deleted", "rewritten", "work", "÷ paper", "CPU s"),
    )
    rows = [(name, *_cells(pairs, paper)) for name, pairs in methods.items()]
    return f"### {chain}, {model}\n\n{aligned([head, *rows])}"


def _cells(pairs: Rows, paper: dict[Any, int]) -> list[str]:
    cells = [str(len({mine["seed"] for mine, _ in pairs})), str(len(pairs))]
    for name in ("mrr", "mrr_head", "mrr_tail", "mrr_others"):
        shares = [mine[name] / theirs[name] for mine, theirs in pairs]
        cells.append(f"{np.mean(shares):.3f} / {min(shares):.3f}")
    for name in ("near", "added", "deleted"):
        found = pooled(pairs, name)
        cells.append("" if found is None else f"{found:.3f}")
    cells.append(_mean(pairs, lambda mine, _: mine["moved_rows"] / mine["touched_rows"]))
    cells.append(_mean(pairs, lambda mine, theirs: mine["scores"] / theirs["scores"], "{:.4f}"))
    of_paper = [mine["scores"] / paper[_key(mine)] for mine, _ in pairs if _key(mine) in paper]
    cells.append(f"{np.mean(of_paper):.4f}" if of_paper else "")
    return [*cells, f"{np.mean([mine['cpu_seconds'] for mine, _ in pairs]):.1f}"]


def _mean(pairs: Rows, value: Callable[[Record, Record], float], form: str = "{:.2f}") -> str:
    found = [value(mine, theirs) for mine, theirs in pairs if "moved_rows" in mine]
    return form.format(np.mean(found)) if found else ""


def _key(record: Record) -> tuple[int, int]:
    return record["seed"], record["version"]

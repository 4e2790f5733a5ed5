"""The records in tables: every method against retraining, mean and worst over chains and seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.table import aligned
from tests.benchmarks.updates.records import Record, every_record

__all__ = ["summary"]

_BASE = "scratch"
Rows = list[tuple[Record, Record]]
"""A record of a method, and that of retraining the same version with the same seed."""


def summary(folder: Path) -> str:
    """A table per chain and model: a method a row."""
    records = every_record(folder)
    contests = sorted({(each["chain"], each["model"]) for each in records})
    return "\n\n".join(_table(records, *contest) for contest in contests)


def _table(records: Iterable[Record], chain: str, model: str) -> str:
    mine = [each for each in records if (each["chain"], each["model"]) == (chain, model)]
    base = {_key(each): each for each in mine if each["method"] == _BASE}
    paper = {_key(each): each["scores"] for each in mine if each["method"] == "paper"}
    methods: dict[str, Rows] = defaultdict(list)
    for each in mine:
        if _key(each) in base and each["version"]:
            methods[each["method"]].append((each, base[_key(each)]))
    head = (
        *("method", "versions", "MRR", "worst", "head", "tail", "others", "near", "added"),
        *("deleted", "rewritten", "scores", "÷ paper", "CPU s"),
    )
    rows = [(name, *_cells(pairs, paper)) for name, pairs in sorted(methods.items())]
    return f"### {chain}, {model}\n\n{aligned([head, *rows])}"


def _cells(pairs: Rows, paper: dict[Any, int]) -> list[str]:
    overall = [mine["mrr"] / theirs["mrr"] for mine, theirs in pairs]
    cells = [str(len(pairs)), f"{np.mean(overall):.3f}", f"{min(overall):.3f}"]
    for name in ("mrr_head", "mrr_tail", "mrr_others"):
        cells.append(f"{np.mean([mine[name] / theirs[name] for mine, theirs in pairs]):.3f}")
    cells += [_pooled(pairs, name) for name in ("near", "added", "deleted")]
    cells.append(_mean(pairs, lambda mine, _: mine["moved_rows"] / mine["touched_rows"]))
    cells.append(_mean(pairs, lambda mine, theirs: mine["scores"] / theirs["scores"], "{:.4f}"))
    shares = [mine["scores"] / paper[_key(mine)] for mine, _ in pairs if _key(mine) in paper]
    cells.append(f"{np.mean(shares):.4f}" if shares else "")
    return [*cells, f"{np.mean([mine['cpu_seconds'] for mine, _ in pairs]):.1f}"]


def _pooled(pairs: Rows, name: str) -> str:
    """MRR over the triples of all versions together, as a share of that of retraining."""
    sums = np.zeros(2)
    for mine, theirs in pairs:
        if name in mine and name in theirs:
            weight = mine[f"{name}_triples"]
            sums += weight * mine[name], weight * theirs[name]
    return f"{sums[0] / sums[1]:.3f}" if sums[1] else ""


def _mean(pairs: Rows, value: Callable[[Record, Record], float], form: str = "{:.2f}") -> str:
    found = [value(*pair) for pair in pairs if "moved_rows" in pair[0]]
    return form.format(np.mean(found)) if found else ""


def _key(record: Record) -> tuple[int, int]:
    return record["seed"], record["version"]

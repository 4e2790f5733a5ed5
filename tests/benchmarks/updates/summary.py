"""The records in tables: every method against retraining, and the work by size of the change.

MRR, also by side and without the query that is asked most often: "mean / worst" over the versions,
each the mean over the seeds as a share of that of retraining. Triples near the change, added and
deleted ones are pooled over versions and seeds. Rewritten: rows whose bits changed, as a share of
those that the change touches. Retraining with another seed shows how much of it all is chance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.table import aligned
from tests.benchmarks.updates.records import Record, every_record

__all__ = ["Rows", "by_version", "compared", "contests", "pooled", "summary"]

_BASE, _OTHER = "scratch", "scratch, other seed"
Rows = list[tuple[Record, Record]]
"""A record of a method, and that of retraining the same version with the same seed."""

_SIZES = ((0.002, "to .2 %"), (0.02, "to 2 %"), (0.2, "to 20 %"), (np.inf, "more"))
"""Changed triples as a share of the training triples."""


def summary(folder: Path) -> str:
    """A table per chain and model: a method a row. Then one of the work by size."""
    records = every_record(folder)
    tables = [_table(records, *contest) for contest in contests(records)]
    return "\n\n".join([*tables, f"### auto by size of the change\n\n{_sizes(records)}"])


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


def by_version(pairs: Rows, name: str) -> list[float]:
    """For each version, the mean over the seeds as a share of that of retraining."""
    sums: dict[int, Any] = defaultdict(lambda: np.zeros(2))
    for mine, theirs in pairs:
        sums[mine["version"]] += (mine[name], theirs[name])
    return [float(mine / theirs) for _, (mine, theirs) in sorted(sums.items())]


def _table(records: Iterable[Record], chain: str, model: str) -> str:
    methods = compared(records, chain, model)
    base = {_key(theirs): theirs for _, theirs in methods.get(_BASE, [])}
    if other := base and _other_seed(base):
        methods[_OTHER] = other
    methods.pop(_BASE, None)
    paper = {_key(each): each["scores"] for each, _ in methods.get("paper", [])}
    head = (
        *("method", "seeds", "versions", "MRR", "heads", "tails", "other queries", "near"),
        *("added", "deleted", "rewritten", "work", "÷ paper", "CPU s"),
    )
    rows = [(name, *_cells(pairs, paper)) for name, pairs in methods.items()]
    seconds = np.mean([each["cpu_seconds"] for each in base.values()]) if base else 0
    about = f"Training from scratch takes {seconds:.1f} s of CPU."
    return f"### {chain}, {model}\n\n{aligned([head, *rows])}\n\n{about}"


def _other_seed(base: dict[tuple[int, int], Record]) -> Rows:
    """Retraining with the last seed, compared with the first."""
    first, last = min(seed for seed, _ in base), max(seed for seed, _ in base)
    versions = [version for seed, version in base if seed == last]
    if first == last:
        return []
    return [(base[last, v], base[first, v]) for v in versions if (first, v) in base]


def _cells(pairs: Rows, paper: dict[Any, int]) -> list[str]:
    cells = [str(len({mine[name] for mine, _ in pairs})) for name in ("seed", "version")]
    for name in ("mrr", "mrr_head", "mrr_tail", "mrr_others"):
        shares = by_version(pairs, name)
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


def _sizes(records: Iterable[Record]) -> str:
    """What auto takes, by size of the change: mean, and most."""
    rows: list[tuple[str, ...]] = [
        ("chain, model", "change", "versions", "÷ paper", "÷ retraining", "rewritten")
    ]
    for chain, model in contests(records):
        methods = compared(records, chain, model)
        paper = {_key(each): each["scores"] for each, _ in methods.get("paper", [])}
        groups: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
        for mine, theirs in methods.get("auto", []):
            share = mine["changed"] / mine["train"]
            size = next(name for most, name in _SIZES if share <= most)
            groups[size].append(
                (
                    mine["scores"] / paper.get(_key(mine), np.nan),
                    mine["scores"] / theirs["scores"],
                    mine["moved_rows"] / mine["touched_rows"],
                )
            )
        for _, size in _SIZES:
            if size in groups:
                found = np.array(groups[size])
                cells = [
                    "" if np.isnan(mean) else f"{mean:.4f} (most {most:.4f})"
                    for mean, most in zip(found.mean(0), found.max(0), strict=True)
                ]
                rows.append((f"{chain}, {model}", size, str(len(found)), *cells))
    return aligned(rows)


def _key(record: Record) -> tuple[int, int]:
    return record["seed"], record["version"]

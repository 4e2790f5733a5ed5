"""The tables that a benchmark prints, aligned as text and as Markdown at once."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from tests.benchmarks.measure import Measurement
from tests.benchmarks.reading import PLAIN

__all__ = ["aligned", "machine", "table"]

_HEAD = (
    "",
    "prepare s",
    "time s",
    "CPU s",
    "before MB",
    "peak MB",
    "growth MB",
    "time ÷ plain",
    "peak ÷ plain",
    "growth ÷ plain",
)
_LIBRARIES = ("kgsync", "numpy", "pyarrow", "pyoxigraph", "rdflib")


def table(title: str, measured: Mapping[str, Measurement]) -> str:
    """One table: a contestant a row, each compared with the plain loop."""
    plain = measured.get(PLAIN)
    rows = [_row(name, run, plain) for name, run in measured.items()]
    numbers = next(iter(measured.values())).numbers
    return f"### {title}\n\n{aligned([_HEAD, *rows])}\n\n{_said(numbers)}\n"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of cells, of which the first is the head, as a table."""
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = [f"{'-' * (width - 1)}{'-' if at == 0 else ':'}" for at, width in enumerate(widths)]
    lines = []
    for row in (rows[0], rule, *rows[1:]):
        first, *others = (f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        lines.append(f"| {' | '.join([first.strip().ljust(widths[0]), *others])} |")
    return "\n".join(lines)


def machine(libraries: Sequence[str] = _LIBRARIES) -> str:
    """What the numbers were measured on."""
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return (
        f"{os.cpu_count()} × {_processor()}, load average {load} at the start; "
        f"{platform.system()}, Python {platform.python_version()}, {versions}\n"
    )


def _row(name: str, run: Measurement, plain: Measurement | None) -> Sequence[str]:
    seconds, megabytes = (run.preparing, run.seconds, run.cpu), (run.before, run.peak, run.growth)
    cells = [name, *(f"{s:,.2f}" for s in seconds), *(f"{m:,.0f}" for m in megabytes)]
    if plain is None:
        return [*cells, "", "", ""]
    ratios = (run.seconds / plain.seconds, run.peak / plain.peak, run.growth / plain.growth)
    return [*cells, *(f"{ratio:.2f}" for ratio in ratios)]


def _said(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items())


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()

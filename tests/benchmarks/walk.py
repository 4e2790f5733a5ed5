"""How far one step walks through the code: files it passes, and switches between files.

    python -m tests.benchmarks.walk [--by-pair]

A switch is a call whose caller stands in another file; only files of kgsync, its adapters and its
queries count. The step takes three added triples, after a first version and one warm-up step.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pyoxigraph as ox

from kgsync import KGSync
from tests.worlds import quick_settings

__all__ = ["Walk", "main", "walk"]

_ROOT = Path(__file__).parents[2]
_COUNTED = tuple(str(_ROOT / name) + "/" for name in ("kgsync", "adapters", "queries"))
_GRAPHS = "http://example.org/kg/{version}"


@dataclass
class Walk:
    """What was counted."""

    files: set[str] = field(default_factory=set)
    switches: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Calls from one file into another."""

    def hear(self, frame: FrameType, event: str, _: Any) -> None:
        """Count one call; given to `sys.setprofile`."""
        if event != "call" or not frame.f_code.co_filename.startswith(_COUNTED):
            return
        callee = str(Path(frame.f_code.co_filename).relative_to(_ROOT))
        self.files.add(callee)
        caller = _caller(frame)
        if caller is not None and caller != callee:
            self.switches[caller, callee] += 1


def _caller(frame: FrameType) -> str | None:
    """The nearest file of ours that led here; libraries in between are passed over."""
    back = frame.f_back
    while back is not None and not back.f_code.co_filename.startswith(_COUNTED):
        back = back.f_back
    return None if back is None else str(Path(back.f_code.co_filename).relative_to(_ROOT))


def walk() -> Walk:
    """Count one small step of a small sync."""
    with tempfile.TemporaryDirectory() as folder:
        store = ox.Store()
        sync = KGSync(store, _GRAPHS, state=Path(folder) / "state", settings=quick_settings())
        for number in range(1, 4):
            _load(store, number)
            if number < 3:
                sync.step()
        counted = Walk()
        sys.setprofile(counted.hear)
        try:
            sync.step()
        finally:
            sys.setprofile(None)
    return counted


def _load(store: ox.Store, number: int) -> None:
    """Version `number`: a ring with chords, and three more triples than the one before."""
    graph = ox.NamedNode(_GRAPHS.format(version=number))
    edges = {(at, at % 3, (at * 7 + 1) % 60) for at in range(60)}
    edges |= {(at, 1, at + 60) for at in range(3 * (number - 1))}
    node, relation = "http://example.org/e{}", "http://example.org/r{}"
    store.extend(
        ox.Quad(
            ox.NamedNode(node.format(head)),
            ox.NamedNode(relation.format(kind)),
            ox.NamedNode(node.format(tail)),
            graph,
        )
        for head, kind, tail in edges
    )


def main() -> None:
    """Print both numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--by-pair", action="store_true", help="also every pair of files")
    options = parser.parse_args()
    counted = walk()
    print(f"files {len(counted.files)}")
    print(f"switches {counted.switches.total()}")
    if options.by_pair:
        for (caller, callee), count in counted.switches.most_common():
            print(f"{count:6} {caller} -> {callee}")


if __name__ == "__main__":
    main()

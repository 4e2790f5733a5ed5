"""The chains of versions: real histories, and FB15K with changes of given sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from kgsync.common.seeds import Seeds
from kgsync.config import Settings
from kgsync.graph.active import Active
from kgsync.graph.change import ChangeSet
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Splitter, edges_fingerprint
from kgsync.graph.terms import TermIndex
from kgsync.snapshots.changes import ChangeFiles
from kgsync.snapshots.changing import Changing, changing_versions
from kgsync.snapshots.iris import Naming
from kgsync.snapshots.plain import read_static, read_timed
from kgsync.snapshots.version import BuiltVersion
from kgsync.snapshots.window import sliding_window
from kgsync.training.problem import Problem

__all__ = ["CHAINS", "Chain"]

_NAMING = Naming("http://example.org/")
_SMALL = (0.001, 0.005, 0.01, 0.05) * 2
_SPLITTER = Splitter(0.05, 0.05)


@dataclass(frozen=True)
class Chain:
    """Versions over one term index."""

    name: str
    versions: list[Snapshot]
    terms: TermIndex

    @classmethod
    def load(cls, name: str, data: Path) -> Chain:
        """Build a chain from the raw data."""
        built = list(CHAINS[name](data))
        terms = built[-1].terms.keyed(b"kgsync")
        return cls(name, [version.edges for version in built], terms)

    def problem(self, number: int, settings: Settings) -> Problem:
        """One version, ready to be trained on."""
        edges = self.versions[number]
        split = _SPLITTER.split(edges, self.terms)
        seeds = Seeds(settings.run.seed, edges_fingerprint(edges, self.terms))
        return Problem(Active.of(edges), split, edges, self.terms, settings, seeds)

    def change(self, number: int) -> ChangeSet:
        """What changed from the version before."""
        before, after = self.versions[number - 1 : number + 1]
        return ChangeSet.between(before, after, self.terms, _SPLITTER)


def _changing(data: Path, how: Changing) -> Iterator[BuiltVersion]:
    facts = read_static(sorted((data / "fb15k").glob("*.gz")), _NAMING)
    return changing_versions(facts, how)


def _nomisma(data: Path, first: int, last: int) -> Iterator[BuiltVersion]:
    return islice(ChangeFiles.find(data / "nomisma").versions(), first, last + 1)


def _mathoverflow(data: Path, versions: int, count: int) -> Iterator[BuiltVersion]:
    facts = read_timed(sorted((data / "mathoverflow").glob("*.gz")), _NAMING)
    return islice(sliding_window(facts, versions=versions, share=0.5), count)


CHAINS: dict[str, Callable[[Path], Iterator[BuiltVersion]]] = {
    "fb15k": lambda data: _changing(data, Changing(_SMALL)),
    "fb15k-quick": lambda data: _changing(data, Changing((0.001, 0.01))),
    "fb15k-growing": lambda data: _changing(
        data, Changing((0.35,) * 5, added=0.9, start=0.2, hidden=0.3)
    ),
    "nomisma": lambda data: _nomisma(data, 5, 14),
    "mathoverflow": lambda data: _mathoverflow(data, 20, 9),
    "mathoverflow-coarse": lambda data: _mathoverflow(data, 5, 5),
}

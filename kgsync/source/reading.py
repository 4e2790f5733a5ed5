"""Reading the next graph version and comparing it with the committed one."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from kgsync.common.durations import seconds_of
from kgsync.errors import LargeRemovalError, VersionError
from kgsync.graph.change import ChangeSet
from kgsync.graph.filters import EdgeFilter
from kgsync.graph.port import GraphStore, TripleSource
from kgsync.graph.rows import Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Split, Splitter
from kgsync.graph.terms import TermIndex
from kgsync.graph.versions import GraphVersion, VersionList, find_versions
from kgsync.source.costs import Costs
from kgsync.source.fetch import Base, Fetched, fetch
from kgsync.source.rewritten import stamps_of
from kgsync.source.settings import ReadingSettings
from kgsync.state.committed import CommittedVersion
from kgsync.state.directory import State

__all__ = [
    "Earlier",
    "Reading",
    "check_removal",
    "graph_version_of",
    "note_reading",
    "passed_over",
    "read_version",
    "todo",
    "versions_of",
]

_WHOLE, _COSTS = "whole.json", "costs.json"


@dataclass(frozen=True)
class Reading:
    """One graph version, read completely and compared with the current one."""

    version: GraphVersion
    behind: int
    """Graph versions after this one."""
    fetched: Fetched
    edges: Snapshot
    """The edges to embed."""
    dropped: dict[str, int]
    """Edges that the filters left out."""
    split: Split
    change: ChangeSet
    removed_share: float
    """Share of the embedded edges that are gone."""
    gathered: tuple[str, ...] = ()
    """Versions before this one that were not taken: their changes come with it."""
    costs: Costs = field(default_factory=Costs)
    """What reading the store has cost so far, this reading included."""
    files: dict[str, str] = field(default_factory=dict)
    """Stamps of the files that it was read from, if it was."""

    @property
    def skipped(self) -> dict[str, int]:
        """Triples that are not embedded, by reason."""
        return {**vars(self.fetched.skipped), **self.dropped}


def versions_of(store: GraphStore, settings: ReadingSettings) -> VersionList:
    """The versions of the graph the settings name."""
    source = settings.source
    return find_versions(store, source.graphs, source.catalog, source.ready)


def todo(
    versions: VersionList, current: CommittedVersion | None, settings: ReadingSettings
) -> tuple[GraphVersion, ...]:
    """The versions still to do.

    Raises:
        VersionError: The graph that was followed is gone, or its version cannot be placed.
    """
    now = graph_version_of(current)
    if now is not None and now.live and versions.order == "live":
        (found,) = versions.versions
        if found.graph != now.graph:
            raise VersionError(f"the graph <{now.graph}> is gone; it may be empty just now")
    return versions.after(graph_version_of(current), settings.source.start)


def graph_version_of(current: CommittedVersion | None) -> GraphVersion | None:
    """The graph version that a committed version belongs to."""
    return GraphVersion(**current.manifest.graph_version) if current else None


def passed_over(
    versions: VersionList, current: CommittedVersion | None, state: State
) -> tuple[str, ...]:
    """Versions that turned up late: between the first committed and the current one, never seen."""
    now = graph_version_of(current)
    names = [version.name for version in versions.versions]
    if now is None or now.name not in names:
        return ()
    taken, before = state.history.graph_versions, names[: names.index(now.name)]
    first = next((at for at, name in enumerate(before) if name in taken), len(before))
    return tuple(name for name in before[first:] if name not in taken)


@dataclass(frozen=True)
class Earlier:
    """What is known when the next version is read."""

    terms: TermIndex
    """The ids given so far."""
    base: Base | None
    """The version that the next one is compared with."""
    thorough: bool = False
    """Whether it is time to read all of the graph again, where a cheaper way may miss something."""
    costs: Costs = field(default_factory=Costs)
    """What reading the store has cost so far."""

    @classmethod
    def committed(
        cls, current: CommittedVersion | None, settings: ReadingSettings, state: State | None = None
    ) -> Earlier:
        """What the committed version knows, and the state."""
        key = settings.split.key.encode()
        costs = Costs(state.recall(_COSTS) if state is not None else None)
        if current is None:
            return cls(TermIndex(key), None, costs=costs)
        manifest = current.manifest
        source = TripleSource(manifest.graph_version["graph"], settings.scope_text())
        skipped = Skipped(**{name: manifest.skipped[name] for name in vars(Skipped())})
        base = Base(source, current.graph.edges, manifest.triples, skipped)
        often = seconds_of(settings.source.full_scan_every)
        # A clock that was ahead must not put it off.
        thorough = state is not None and not 0 <= _age_of_whole(state) <= often
        return cls(current.graph.terms.keyed(key), base, thorough, costs)

    @classmethod
    def read(cls, reading: Reading, settings: ReadingSettings) -> Earlier:
        """What a reading knows."""
        source = TripleSource(reading.version.graph, settings.scope_text())
        fetched = reading.fetched
        base = Base(source, fetched.edges, fetched.triples, fetched.skipped)
        return cls(fetched.terms, base, costs=reading.costs)


def read_version(
    store: GraphStore,
    versions: tuple[GraphVersion, ...],
    earlier: Earlier,
    settings: ReadingSettings,
) -> Reading:
    """Read the first of the versions to do.

    Args:
        store: The open source.
        versions: The versions to do, at least one.
        earlier: Ids that are kept, and the version to compare with.
        settings: Scope, filters and split.

    Raises:
        VersionError: The version has no edges to embed or to train on.
        StoreError: It could not be read completely.
    """
    version = versions[0]
    source = TripleSource(version.graph, settings.scope_text())
    files = stamps_of(store, source)  # before they are read: a later change is noticed
    fetched = fetch(
        store,
        source,
        earlier.terms,
        earlier.base,
        live=version.live,
        thorough=earlier.thorough,
        costs=earlier.costs,
    )
    name = _named(version)
    if not len(fetched.edges):
        raise VersionError(
            f"{name} has no edges between IRIs ({fetched.triples:,} triples in all); "
            "check `graphs` and `scope`"
        )
    filters = EdgeFilter(**vars(settings.filter))
    edges, dropped = filters.apply(fetched.edges, fetched.terms)
    if not len(edges):
        raise VersionError(f"the filter settings leave no edge of {name}; loosen them")
    splitter = Splitter(settings.split.validation, settings.split.test)
    split = splitter.split(edges, fetched.terms)
    if not len(split.train):
        raise VersionError(f"the split leaves {name} without a training edge; lower its shares")
    before = earlier.base.edges if earlier.base else Snapshot.empty()
    old, _ = filters.apply(before, fetched.terms)
    change = ChangeSet.between(old, edges, fetched.terms, splitter)
    return Reading(
        version=version,
        behind=len(versions) - 1,
        fetched=fetched,
        edges=edges,
        dropped=dropped,
        split=split,
        change=change,
        removed_share=len(change.deleted_triples) / len(old) if len(old) else 0.0,
        costs=earlier.costs,
        files=files,
    )


def note_reading(reading: Reading, state: State) -> None:
    """Remember what a reading has cost, and when the graph was last read whole.

    Only called under the lock of the state.
    """
    if not reading.version.live and reading.fetched.way == "changes":
        return
    state.remember(_COSTS, reading.costs.to_json())
    if reading.fetched.way == "scan":
        state.remember(_WHOLE, {"at": time.time()})


def _age_of_whole(state: State) -> float:
    try:
        return time.time() - float(state.recall(_WHOLE)["at"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def check_removal(reading: Reading, settings: ReadingSettings) -> None:
    """Refuse a version that removes more of the graph than the settings allow.

    Raises:
        LargeRemovalError: It does.
    """
    limit = settings.source.max_removed
    if reading.removed_share > limit:
        error = LargeRemovalError(
            f"{_named(reading.version)} would remove {reading.removed_share:.0%} of the edges, "
            f"more than max_removed = {limit:.0%}; if that is right, run `kgsync accept`, or step "
            "with --allow-large-removal"
        )
        error.removed_share = reading.removed_share
        raise error


def _named(version: GraphVersion) -> str:
    if version.graph is None:
        return "the default graph"
    return f"the graph <{version.graph}>" if version.live else f"graph version <{version.name}>"

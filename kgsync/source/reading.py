"""Reading the next graph version and comparing it with the committed one."""

from __future__ import annotations

import math
import time
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from kgsync.common.durations import seconds_of
from kgsync.errors import VersionError
from kgsync.graph.change import ChangeSet
from kgsync.graph.filters import EdgeFilter
from kgsync.graph.port import GraphStore, TripleSource
from kgsync.graph.reading import Fetched, Reading
from kgsync.graph.rows import Skipped
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import EdgeSums, Part, Split, Splitter
from kgsync.graph.terms import TermIndex
from kgsync.graph.versions import GraphVersion, VersionList, find_versions
from kgsync.source.fetch import Base, fetch
from kgsync.source.notes import CommittedBase, Notes
from kgsync.source.reading_costs import ReadingCosts
from kgsync.source.rewritten import stamps_of
from kgsync.source.settings import ReadingSettings

__all__ = [
    "Earlier",
    "Reading",
    "compared",
    "note_reading",
    "passed_over",
    "read_version",
    "todo",
    "version_in_words",
    "versions_of",
]

_WHOLE, _COSTS = "whole.json", "costs.json"


def versions_of(store: GraphStore, settings: ReadingSettings) -> VersionList:
    """The versions of the graph the settings name."""
    source = settings.source
    return find_versions(store, source.graphs, source.catalog, source.ready)


def todo(
    versions: VersionList, current: CommittedBase | None, settings: ReadingSettings
) -> tuple[GraphVersion, ...]:
    """The pending versions.

    Raises:
        VersionError: The graph that was followed is gone, or its version cannot be placed.
    """
    now = current.graph_version if current else None
    if now is not None and now.live and versions.order == "live":
        (found,) = versions.versions
        if found.graph != now.graph:
            raise VersionError(f"the graph <{now.graph}> is gone; it may be empty just now")
    return versions.after(now, settings.source.start)


def passed_over(
    versions: VersionList, current: CommittedBase | None, taken: Collection[str]
) -> tuple[str, ...]:
    """Versions added late: between the first committed and the current one, never taken.

    Args:
        versions: All versions that there are.
        current: The committed version.
        taken: Names of all graph versions that were ever committed.
    """
    now = current.graph_version if current else None
    names = [version.name for version in versions.versions]
    if now is None or now.name not in names:
        return ()
    before = names[: names.index(now.name)]
    first = next((at for at, name in enumerate(before) if name in taken), len(before))
    return tuple(name for name in before[first:] if name not in taken)


@dataclass(frozen=True)
class Earlier:
    """What is known when the next version is read."""

    terms: TermIndex
    """The ids assigned so far."""
    base: Base | None
    """The version that the next one is compared with."""
    thorough: bool = False
    """Whether a full scan is due, where a cheaper method may miss something."""
    costs: ReadingCosts = field(default_factory=ReadingCosts)
    """Measured costs of reading the store."""

    @classmethod
    def committed(
        cls, current: CommittedBase | None, settings: ReadingSettings, notes: Notes | None = None
    ) -> Earlier:
        """What the committed version knows, and what was noted."""
        key = settings.split.key.encode()
        costs = ReadingCosts(notes.recall(_COSTS) if notes is not None else None)
        if current is None:
            return cls(TermIndex(key), None, costs=costs)
        source = TripleSource(current.graph_version.graph, settings.scope_text())
        counts = current.skipped
        skipped = Skipped(**{name: counts[name] for name in vars(Skipped())})
        base = Base(source, current.edges, current.triples, skipped)
        if current.reading is not None:
            base = _with_parts(base, current.reading)
        often = seconds_of(settings.source.full_scan_every)
        # A clock that was ahead must not delay it.
        thorough = notes is not None and not 0 <= _age_of_whole(notes) <= often
        return cls(current.terms.keyed(key), base, thorough, costs)

    @classmethod
    def read(cls, reading: Reading, settings: ReadingSettings) -> Earlier:
        """What a reading knows."""
        source = TripleSource(reading.version.graph, settings.scope_text())
        fetched = reading.fetched
        base = Base(source, fetched.edges, fetched.triples, fetched.skipped)
        return cls(fetched.terms, _with_parts(base, reading), costs=ReadingCosts(reading.costs))


def read_version(
    store: GraphStore,
    versions: tuple[GraphVersion, ...],
    earlier: Earlier,
    settings: ReadingSettings,
) -> Reading:
    """Read the first pending version.

    Args:
        store: The open source.
        versions: The pending versions, at least one.
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
    name = version_in_words(version)
    if not len(fetched.edges):
        raise VersionError(
            f"{name} has no edges between IRIs ({fetched.triples:,} triples in all); "
            "check `graphs` and `scope`"
        )
    filters = EdgeFilter(**vars(settings.filter))
    edges, dropped = filters.apply(fetched.edges, fetched.terms)
    if not len(edges):
        raise VersionError(f"the filter settings remove all edges of {name}; relax them")
    splitter = Splitter(settings.split.validation, settings.split.test)
    old = _embedded(earlier.base, filters, fetched.terms)
    change = _change(fetched, filters, (old, edges), splitter)
    split, sums = _split(earlier.base, change, edges, fetched.terms, splitter)
    if not len(split.train):
        raise VersionError(
            f"the split leaves {name} without a training edge; lower the shares in [split]"
        )
    return Reading(
        version=version,
        behind=len(versions) - 1,
        fetched=fetched,
        edges=edges,
        dropped=dropped,
        split=split,
        change=change,
        removed_share=len(change.deleted_triples) / (len(old) or 1),
        costs=earlier.costs.to_json(),
        files=files,
        known_sums=sums,
    )


def compared(reading: Reading, edges: Snapshot, settings: ReadingSettings) -> Reading:
    """A reading that was compared with nothing, with what it changes in an earlier version.

    Args:
        reading: The reading.
        edges: The edges of the earlier version, before filters, under ids of the same index.
        settings: Filters and split.
    """
    terms = reading.fetched.terms
    old = EdgeFilter(**vars(settings.filter)).apply(edges, terms)[0]
    splitter = Splitter(settings.split.validation, settings.split.test)
    return replace(reading, since_last=ChangeSet.between(old, reading.edges, terms, splitter))


def _with_parts(base: Base, reading: Reading) -> Base:
    """A base with what its reading knows of the embedded edges."""
    return replace(base, embedded=reading.edges, split=reading.split, sums=reading.sums)


def _split(
    base: Base | None, change: ChangeSet, edges: Snapshot, terms: TermIndex, splitter: Splitter
) -> tuple[Split, EdgeSums | None]:
    """The edges by part, and what identifies them if that is known.

    Both follow from the version before and the change: the part of an edge is for ever.
    """
    if base is None or base.split is None or base.sums is None:
        return splitter.split(edges, terms), None
    added, deleted = zip(*map(change.part, Part), strict=True)
    sums = base.sums.changed(change.deleted_triples, change.added_triples, terms)
    return base.split.changed(deleted, added), sums


def _embedded(base: Base | None, filters: EdgeFilter, terms: TermIndex) -> Snapshot:
    """The edges of the earlier version that were embedded."""
    if base is None:
        return Snapshot.empty()
    return filters.apply(base.edges, terms)[0] if base.embedded is None else base.embedded


def _change(
    fetched: Fetched, filters: EdgeFilter, versions: tuple[Snapshot, Snapshot], splitter: Splitter
) -> ChangeSet:
    """The change between two versions; its edges come from the fetch where that has found them."""
    terms = fetched.terms
    if fetched.difference is None or not filters.is_per_edge:
        return ChangeSet.between(*versions, terms, splitter)
    added, deleted = (filters.apply(edges, terms)[0] for edges in fetched.difference)
    return ChangeSet.known((added, deleted), versions, terms, splitter)


def note_reading(reading: Reading, notes: Notes) -> None:
    """Note the cost of a reading, and the time of the last full scan.

    Only called under the lock of the state.
    """
    if not reading.version.live and reading.fetched.way == "changes":
        return
    notes.remember(_COSTS, reading.costs)
    if reading.fetched.way == "scan":
        notes.remember(_WHOLE, {"at": time.time()})


def _age_of_whole(notes: Notes) -> float:
    try:
        return time.time() - float(notes.recall(_WHOLE)["at"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def version_in_words(version: GraphVersion) -> str:
    """A version in messages."""
    if version.graph is None:
        return "the default graph"
    return f"the graph <{version.graph}>" if version.live else f"graph version <{version.name}>"

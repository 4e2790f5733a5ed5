"""Which versions a graph has, and in which order: found by name, by catalogue, or live."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

from kgsync import queries
from kgsync.errors import VersionError
from kgsync.graph.port import OUTPUT_GRAPH, GraphReader

__all__ = ["GraphVersion", "VersionList", "find_versions", "live_version", "natural_key"]

_DCAT_PREVIOUS = "http://www.w3.org/ns/dcat#previousVersion"
_PROV_REVISION = "http://www.w3.org/ns/prov#wasRevisionOf"
_DCTERMS_ISSUED = "http://purl.org/dc/terms/issued"

Order = Literal["chain", "issued", "name", "live"]


@dataclass(frozen=True)
class GraphVersion:
    """One state of the graph."""

    name: str
    """IRI of the version's named graph; for a live graph the UTC time it was fetched."""
    graph: str | None
    """The named graph its triples are in, or None for the default graph."""
    issued: str | None = None
    """`dcterms:issued` as the catalogue has it."""

    @property
    def live(self) -> bool:
        """Whether its graph changes in place: then the name is a time."""
        return self.name != self.graph


@dataclass(frozen=True)
class VersionList:
    """The versions of a graph, oldest first, and how their order was found."""

    order: Order
    versions: tuple[GraphVersion, ...]
    chain: tuple[str, ...] = ()
    """Order "chain": every version the catalogue links, also those whose graph is gone."""
    pending: tuple[str, ...] = ()
    """Graphs that match but are not issued yet, while others are."""
    declared: bool = False
    """The catalogue says that these versions are complete."""
    sort_key: Callable[[str, str | None], Any] | None = field(default=None, repr=False)

    def after(self, current: GraphVersion | None, start: str) -> tuple[GraphVersion, ...]:
        """The versions to process: all after the current one, or from `start` if there is none.

        Raises:
            VersionError: `start` or the current version cannot be placed among the versions.
        """
        if self.order == "live":
            return self.versions
        if current is None:
            return self._from_start(start)
        names = [version.name for version in self.versions]
        if current.name in names:
            return self.versions[names.index(current.name) + 1 :]
        if self.order == "chain":
            if current.name not in self.chain:
                raise VersionError(
                    f"the current version <{current.name}> is not in the catalogue's chain "
                    f"{_list(self.chain)}; repair the chain or run `kgsync rebuild`"
                )
            later = set(self.chain[self.chain.index(current.name) + 1 :])
            return tuple(version for version in self.versions if version.name in later)
        if self.sort_key is None:
            raise VersionError(f"<{current.name}> cannot be placed among versions without an order")
        if self.order == "issued" and current.issued is None:
            raise VersionError(
                f"the current version <{current.name}> has no dcterms:issued, but others have; "
                "add it to the catalogue, or run `kgsync rebuild`"
            )
        position = self.sort_key(current.name, current.issued)
        return tuple(v for v in self.versions if self.sort_key(v.name, v.issued) > position)

    def empty_between(self, current: GraphVersion | None, taken: GraphVersion) -> tuple[str, ...]:
        """Versions that the catalogue links between two others, and that have no triples."""
        if self.order != "chain" or current is None or current.name not in self.chain:
            return ()
        present = {version.name for version in self.versions}
        start, end = self.chain.index(current.name), self.chain.index(taken.name)
        return tuple(name for name in self.chain[start + 1 : end] if name not in present)

    def _from_start(self, start: str) -> tuple[GraphVersion, ...]:
        if start == "oldest":
            return self.versions
        if start == "latest":
            return self.versions[-1:]
        names = [version.name for version in self.versions]
        if start not in names:
            raise VersionError(
                f"start names <{start}>, which is not a version; there are {_list(names)}"
            )
        return self.versions[names.index(start) :]


def live_version(graph: str | None) -> GraphVersion:
    """The version of a live graph that is fetched now."""
    return GraphVersion(datetime.now(UTC).isoformat(timespec="milliseconds"), graph)


def find_versions(
    reader: GraphReader, graphs: str | None, catalog: str | None, ready: str | None = None
) -> VersionList:
    """Find the versions of a graph.

    Args:
        reader: The store.
        graphs: A graph IRI with `{version}` for one path segment; a plain graph IRI (or
            "default") for a live graph; None to go by the catalogue, else by the only graph.
        catalog: Named graph of the version metadata; None for the default graph.
        ready: Property that a version's graph has in the catalogue once it is complete.

    Raises:
        VersionError: No version, or no clear order; the message names the graphs.
    """
    if graphs == "default":
        return _live(None)
    if graphs is not None and "{version}" not in graphs:
        return _live(_existing(reader, graphs))
    present = [graph for graph in _input_graphs(reader) if graph != catalog]
    if graphs is not None:
        matcher = _matcher(graphs)
        found = [graph for graph in present if matcher.fullmatch(graph)]
        if not found:
            raise VersionError(
                f"no named graph in {reader.label} matches {graphs!r}; there are {_list(present)}"
            )
        return _ordered(found, _metadata(reader, catalog, ready), ready)
    metadata = _metadata(reader, catalog, ready)
    linked = {before for record in metadata.values() for before in record.previous}
    described = [graph for graph in present if graph in metadata or graph in linked]
    if described:
        return _ordered(described, metadata, ready)
    if len(present) == 1:
        return _live(present[0])
    if not present:
        return _live(None)
    raise VersionError(
        f"{reader.label} has {len(present)} named graphs and no version metadata: "
        f"{_list(present)}; set `graphs`, for example to the common part with {{version}} in it"
    )


def _live(graph: str | None) -> VersionList:
    return VersionList("live", (live_version(graph),))


def _existing(reader: GraphReader, graph: str) -> str:
    queries.check_iri(graph)
    present = _input_graphs(reader)
    if graph not in present:
        raise VersionError(f"there is no graph <{graph}> in {reader.label}; {_list(present)}")
    return graph


def _input_graphs(reader: GraphReader) -> list[str]:
    if not reader.capabilities.named_graphs:
        return []
    rows = reader.select(queries.load("_output_graphs").bind(marker=OUTPUT_GRAPH))
    written_by_kgsync = {row[0].value for row in rows if row[0] is not None}
    # A graph whose name is not a valid IRI cannot be a version.
    return [g for g in reader.graphs() if g not in written_by_kgsync and queries.is_iri(g)]


def _matcher(graphs: str) -> re.Pattern[str]:
    parts = [re.escape(part) for part in graphs.split("{version}")]
    return re.compile("([^/#?]+)".join(parts))


@dataclass
class _Record:
    previous: set[str] = field(default_factory=set)
    issued: set[str] = field(default_factory=set)
    ready: bool = False


def _metadata(reader: GraphReader, catalog: str | None, ready: str | None) -> dict[str, _Record]:
    wanted = ready or _DCTERMS_ISSUED
    if catalog is None:
        query = queries.load("_version_metadata_default").bind(ready=wanted)
    else:
        query = queries.load("_version_metadata").bind(catalog=catalog, ready=wanted)
        present = reader.graphs()
        if catalog not in present:
            raise VersionError(
                f"there is no catalogue <{catalog}> in {reader.label}; there are {_list(present)}"
            )
    records: dict[str, _Record] = {}
    for version, property_, value in reader.select(query):
        if version is None or property_ is None or value is None or version.kind != "iri":
            continue
        record = records.setdefault(version.value, _Record())
        record.ready |= property_.value == wanted
        if property_.value == _DCTERMS_ISSUED:
            record.issued.add(value.value)
        elif value.kind == "iri" and property_.value in (_DCAT_PREVIOUS, _PROV_REVISION):
            record.previous.add(value.value)
    return records


def _ordered(graphs: list[str], metadata: Mapping[str, _Record], ready: str | None) -> VersionList:
    if ready is None:
        return _in_order(graphs, metadata)
    complete = [graph for graph in graphs if metadata.get(graph, _Record()).ready]
    pending = tuple(sorted(set(graphs) - set(complete)))
    if not complete:
        raise VersionError(
            f"no version has the property <{ready}> in the catalogue yet: {_list(pending)}"
        )
    ordered = _in_order(complete, metadata)
    pending = tuple(sorted({*pending, *ordered.pending}))
    return replace(ordered, pending=pending, declared=True)


def _in_order(graphs: list[str], metadata: Mapping[str, _Record]) -> VersionList:
    records = {graph: metadata[graph] for graph in graphs if graph in metadata}
    linked = _linked(graphs, metadata) if metadata else {}
    if any(record.previous for record in linked.values()):
        return _by_chain(graphs, linked)
    if any(record.issued for record in records.values()):
        return _by_issued({graph: metadata.get(graph, _Record()) for graph in graphs})
    names = sorted(graphs, key=natural_key)
    versions = tuple(GraphVersion(name, name) for name in names)
    return VersionList("name", versions, sort_key=lambda name, _: natural_key(name))


def _linked(graphs: Iterable[str], metadata: Mapping[str, _Record]) -> dict[str, _Record]:
    """The records that the catalogue links with the graphs, in either direction."""
    following: dict[str, list[str]] = {}
    for name, record in metadata.items():
        for before in record.previous:
            following.setdefault(before, []).append(name)
    linked: dict[str, _Record] = {}
    waiting = list(graphs)
    while waiting:
        name = waiting.pop()
        if name not in linked:
            linked[name] = metadata.get(name, _Record())
            waiting += [*linked[name].previous, *following.get(name, ())]
    return linked


def _by_chain(graphs: list[str], metadata: Mapping[str, _Record]) -> VersionList:
    """Follow dcat:previousVersion / prov:wasRevisionOf, also through versions that are gone."""
    previous: dict[str, str] = {}
    for name, record in metadata.items():
        if len(record.previous) > 1:
            raise VersionError(f"<{name}> has several previous versions: {_list(record.previous)}")
        if record.previous:
            previous[name] = next(iter(record.previous))
    following: dict[str, str] = {}
    for name, before in sorted(previous.items()):
        if before in following:
            raise VersionError(
                f"the version chain forks: <{following[before]}> and <{name}> "
                f"both follow <{before}>; correct the catalogue"
            )
        following[before] = name
    first = graphs[0]
    walked = {first}
    while first in previous:
        first = previous[first]
        if first in walked:
            raise VersionError(f"the version chain has a cycle: {_list(sorted(walked))}")
        walked.add(first)
    chain = [first]
    while chain[-1] in following:
        chain.append(following[chain[-1]])
    lost = sorted(set(graphs) - set(chain))
    if lost:
        raise VersionError(
            f"the version chain is broken: {_list(lost)} cannot be reached from <{graphs[0]}>; "
            "add the missing dcat:previousVersion or prov:wasRevisionOf to the catalogue"
        )
    versions = tuple(
        GraphVersion(name, name, next(iter(sorted(metadata[name].issued)), None))
        for name in chain
        if name in set(graphs)
    )
    return VersionList("chain", versions, chain=tuple(chain))


def _by_issued(records: Mapping[str, _Record]) -> VersionList:
    times: dict[str, str] = {}
    for name, record in records.items():
        if len(record.issued) > 1:
            raise VersionError(f"<{name}> has several dcterms:issued: {_list(record.issued)}")
        if record.issued:
            times[name] = next(iter(record.issued))
    by_time: dict[datetime, str] = {}
    for name, text in sorted(times.items()):
        moment = _moment(name, text)
        if moment in by_time:
            raise VersionError(
                f"<{by_time[moment]}> and <{name}> have the same dcterms:issued {text}; "
                "correct one of them or link them by dcat:previousVersion"
            )
        by_time[moment] = name
    ordered = [name for _, name in sorted(by_time.items())]
    return VersionList(
        "issued",
        tuple(GraphVersion(name, name, times[name]) for name in ordered),
        pending=tuple(sorted(set(records) - set(times))),
        declared=True,
        sort_key=lambda name, issued: _moment(name, issued or ""),
    )


def _moment(name: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(_full_date(text))
    except ValueError:
        raise VersionError(f"<{name}> has a dcterms:issued that is not a date: {text!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _full_date(text: str) -> str:
    """xsd:gYear, xsd:gYearMonth and xsd:date as the moments they begin."""
    match = re.fullmatch(r"(\d{4}(?:-\d{2}){0,2})(Z|[+-]\d{2}:\d{2})?", text, re.ASCII)
    return (match[1] + "-01-01")[:10] + "T00:00:00" + (match[2] or "") if match else text


@lru_cache(1 << 16)  # every poll sorts the same names again
def natural_key(name: str) -> tuple[tuple[int, int, str], ...]:
    """Digits compare as numbers: v2 before v10."""
    pieces = re.findall(r"\d+|\D+", name)
    return tuple((0, int(p), p) if p.isdecimal() else (1, 0, p) for p in pieces)


def _list(names: Iterable[str], most: int = 8) -> str:
    names = list(names)
    shown = ", ".join(f"<{name}>" for name in names[:most])
    if not names:
        return "no named graphs"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")

"""Who reads the graph, and how. The inner function of each contestant is what is timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.benchmarks.data import Data, bulk_load, load_old

if TYPE_CHECKING:
    import rdflib

__all__ = ["CASES", "KGSYNC", "PLAIN", "RDFLIB", "Case", "Prepare"]

# Each contestant imports what it uses: what the others import must not count as its memory.

Run: TypeAlias = Callable[[], Mapping[str, Sized]]
"""Reads, and returns all it made, so that nothing is freed while the clock runs."""
Prepare: TypeAlias = Callable[[Data], Run]


def _kgsync_snapshot(data: Data, *, on_disk: bool) -> Run:
    from kgsync.graph.port import TripleSource
    from kgsync.graph.stores import open_store
    from kgsync.graph.terms import TermIndex
    from kgsync.source.fetch import fetch

    reader = open_store(data.store if on_disk else _oxigraph(data, on_disk=False))

    def run() -> Mapping[str, Sized]:
        fetched = fetch(reader, TripleSource(data.old), TermIndex(), None)
        return {"edges": fetched.edges, "entities": fetched.terms.entities}

    return run


def _plain_snapshot(data: Data, *, on_disk: bool) -> Run:
    import pyoxigraph as ox

    store = _oxigraph(data, on_disk=on_disk)

    def run() -> Mapping[str, Sized]:
        quads = store.quads_for_pattern(None, None, None, ox.NamedNode(data.old))
        return {"edges": [(q.subject.value, q.predicate.value, q.object.value) for q in quads]}

    return run


def _rdflib_snapshot(data: Data) -> Run:
    dataset = _rdflib(data)

    def run() -> Mapping[str, Sized]:
        return {"edges": [(s, p, o) for s, p, o in dataset.graph(data.old)]}

    return run


def _kgsync_change(data: Data, *, on_disk: bool) -> Run:
    from kgsync.graph.change import ChangeSet
    from kgsync.graph.port import TripleSource
    from kgsync.graph.split import Splitter
    from kgsync.graph.stores import open_store
    from kgsync.source.fetch import fetch

    reader = open_store(data.store if on_disk else _oxigraph(data, on_disk=False))
    base, terms = load_old(data)

    def run() -> Mapping[str, Sized]:
        fetched = fetch(reader, TripleSource(data.new), terms, base)
        splitter = Splitter(validation=0.05, test=0.05)
        change = ChangeSet.between(base.edges, fetched.edges, fetched.terms, splitter)
        added, deleted = change.added_triples, change.deleted_triples
        return {"edges": fetched.edges, "added": added, "deleted": deleted}

    return run


def _plain_change(data: Data, *, on_disk: bool) -> Run:
    import pyoxigraph as ox

    store = _oxigraph(data, on_disk=on_disk)

    def edges(version: str) -> set[tuple[str, str, str]]:
        quads = store.quads_for_pattern(None, None, None, ox.NamedNode(version))
        return {(q.subject.value, q.predicate.value, q.object.value) for q in quads}

    def run() -> Mapping[str, Sized]:
        old, new = edges(data.old), edges(data.new)
        return {"before": old, "edges": new, "added": new - old, "deleted": old - new}

    return run


def _rdflib_change(data: Data) -> Run:
    dataset = _rdflib(data)

    def run() -> Mapping[str, Sized]:
        old, new = set(dataset.graph(data.old)), set(dataset.graph(data.new))
        return {"before": old, "edges": new, "added": new - old, "deleted": old - new}

    return run


def _oxigraph(data: Data, *, on_disk: bool) -> Any:
    import pyoxigraph as ox

    if on_disk:
        return ox.Store(str(data.store))
    store = ox.Store()
    bulk_load(data, store)
    return store


def _rdflib(data: Data) -> rdflib.Dataset:
    from rdflib import Dataset

    dataset = Dataset()
    for version in (data.old, data.new):
        dataset.graph(version).parse(data.ntriples(version), format="nt")
    return dataset


@dataclass(frozen=True)
class Case:
    """One thing to do, and who does it."""

    title: str
    contestants: Mapping[str, Prepare]


KGSYNC, PLAIN, RDFLIB = "kgsync", "plain", "rdflib"

CASES = {
    f"{job}-{place}": Case(
        f"{title}, {where}",
        {
            KGSYNC: partial(kgsync, on_disk=on_disk),
            PLAIN: partial(plain, on_disk=on_disk),
            RDFLIB: rdflib_,
        },
    )
    for job, title, kgsync, plain, rdflib_ in (
        ("snapshot", "First snapshot", _kgsync_snapshot, _plain_snapshot, _rdflib_snapshot),
        ("change", "Change set of the next version", _kgsync_change, _plain_change, _rdflib_change),
    )
    for place, where, on_disk in (
        ("disk", "Oxigraph directory", True),
        ("memory", "Oxigraph in memory", False),
    )
}
"""rdflib keeps its graphs in memory; the same run stands beside both kinds of Oxigraph store."""

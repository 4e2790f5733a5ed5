"""Small evolving graphs and settings that whole-sync tests share."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgsync import queries
from kgsync.config import (
    ModelSettings,
    RunSettings,
    Settings,
    SourceSettings,
    SplitSettings,
    TrainingSettings,
    UpdateSettings,
)

EX = "http://example.org/"
GRAPHS = EX + "kg/{version}"
QUICK = """
[source]
store = "kg"
graphs = "{graphs}"
max_removed = 1.0
[model]
name = "transe"
dimension = 8
[training]
epochs = 10
batches = 4
[update]
change_epochs = 1
general_epochs = 4
"""
"""A settings file for the store `kg` beside it, to be formatted with `graphs`."""

Edge = tuple[str, str, str]


def iri(name: str) -> str:
    """An IRI of the test world."""
    return EX + name


def ring(size: int, *, start: int = 0) -> list[Edge]:
    """A ring of entities with three relations: next, the one after, and back."""
    names = [f"e{start + i}" for i in range(size)]
    edges: list[Edge] = []
    for i, name in enumerate(names):
        edges.append((name, "next", names[(i + 1) % size]))
        edges.append((name, "skip", names[(i + 2) % size]))
        edges.append((names[(i + 1) % size], "back", name))
    return edges


def versions() -> dict[str, list[Edge]]:
    """Four versions: edges, entities and relations come and go; the last equals the third."""
    first = ring(40)
    second = [e for e in first if e[0] != "e7"] + [("new", "next", "e1"), ("e2", "next", "new")]
    second = [e for e in second if "e9" not in (e[0], e[2])]
    third = [e for e in second if e[1] != "back"] + [(f"e{i}", "likes", "new") for i in range(6)]
    third += [("e7", "next", "e8")]
    return {"1": first, "2": second, "10": third, "11": third}


def quads(version: str, edges: Iterable[Edge]) -> list[ox.Quad]:
    """One version as quads of its named graph."""
    graph = ox.NamedNode(GRAPHS.format(version=version))
    return [
        ox.Quad(ox.NamedNode(iri(s)), ox.NamedNode(iri(p)), ox.NamedNode(iri(o)), graph)
        for s, p, o in edges
    ]


def fill(store: ox.Store, names: Iterable[str] | None = None) -> ox.Store:
    """Put versions, all or the named ones, into a store."""
    everything = versions()
    for name in names or everything:
        store.extend(quads(name, everything[name]))
    return store


def disk_store(path: Path, names: Iterable[str] | None = None) -> Path:
    """A closed on-disk store with versions in it."""
    fill(ox.Store(str(path)), names).flush()
    return path


def answers(store: ox.Store, query: str) -> list[Any]:
    """Rows of one of the shipped queries."""
    rows: Any = store.query(queries.load(query).bind())
    return list(rows)


def current_versions(store: ox.Store) -> list[str]:
    """The versions that the store calls current, one for each sync that publishes there."""
    rows = answers(store, "current_version")
    return [
        version for _, version in sorted({(r["dataset"].value, r["version"].value) for r in rows})
    ]


def quick_settings(model: str = "transe", seed: int = 0) -> Settings:
    """Settings under which a step takes a moment, on one thread."""
    return Settings(
        source=SourceSettings(quiet_period="0s"),
        split=SplitSettings(validation=0.1, test=0.1),
        model=ModelSettings(model, dimension=8),
        training=TrainingSettings(epochs=20, batches=4),
        update=UpdateSettings(change_epochs=2, general_epochs=8),
        run=RunSettings(seed=seed, threads=1),
    )

"""Stores of every kind, open."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kgsync.graph.port import GraphStore
from tests.adapters.kinds import KINDS, Kind, Open
from tests.graph.graphs import Graphs


@pytest.fixture(params=KINDS, scope="module")
def kind(request: pytest.FixtureRequest) -> Kind:
    kind = KINDS[request.param]
    return kind.served(request.getfixturevalue(kind.server)) if kind.server else kind


@pytest.fixture(scope="module")
def store(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    """Opens stores of one kind that are only read, the same one for the same graphs."""
    opened: dict[tuple[tuple[str | None, str], ...], GraphStore] = {}

    def open_one(graphs: Graphs) -> GraphStore:
        key = tuple(graphs.items())
        if kind.server:
            opened.clear()  # a server holds only what was asked for last
        if key not in opened:
            opened[key] = kind.open(graphs, tmp_path_factory.mktemp("store"))
        return opened[key]

    yield open_one
    for one in opened.values():
        one.close()


@pytest.fixture
def fresh(kind: Kind, tmp_path: Path) -> Iterator[Open]:
    """Opens a store that the test may change or close."""
    opened: list[GraphStore] = []

    def open_one(graphs: Graphs) -> GraphStore:
        opened.append(kind.open(graphs, tmp_path))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def writable(kind: Kind, fresh: Open) -> Open:
    if not kind.writable:
        pytest.skip("this kind of store is not written")
    return fresh


@pytest.fixture
def queryable(kind: Kind, store: Open) -> Open:
    if not kind.sparql:
        pytest.skip("queries do not see the triples of this kind of store")
    return store

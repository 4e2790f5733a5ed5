"""Synced graphs whose metadata the tests of this folder look at."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from rdflib import Graph

from kgsync import KGSync
from tests.publish.described import published, sync_of
from tests.worlds import fill, quads, ring, versions


@pytest.fixture(scope="session")
def six(tmp_path_factory: pytest.TempPathFactory) -> tuple[KGSync, ox.Store]:
    """Six synced versions, of which the fourth equals the third."""
    store = fill(ox.Store())
    last = versions()["11"]
    fifth = [*last, *ring(8, start=100), ("e1", "likes", "e100")]
    store.extend(quads("12", fifth))
    store.extend(quads("13", [edge for edge in fifth if edge[1] != "likes"]))
    sync = sync_of(store, tmp_path_factory.mktemp("six") / "state")
    assert [report.version for report in sync.catch_up()] == [1, 2, 3, 4, 5, 6]
    return sync, store


@pytest.fixture(scope="session")
def metadata(six: tuple[KGSync, ox.Store]) -> Graph:
    return published(six[1])

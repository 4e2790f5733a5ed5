"""Incidents of a graph on real servers: nothing half is committed, and it goes on by itself."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.common.events import Event, PhaseStarted
from kgsync.config import ScheduleSettings, SourceSettings
from kgsync.errors import (
    ConfigError,
    LargeRemovalError,
    StateError,
    StateWriteError,
    TransientStoreError,
    VersionError,
)
from kgsync.training.backends import warm_up
from tests.adapters.kinds import endpoint_of
from tests.servers.server import Server
from tests.service.test_schedule import eventually, running, status_of
from tests.test_endpoints import LIVE, text_of
from tests.worlds import GRAPHS, Edge, fill, quads, quick_settings, ring, versions


@pytest.fixture(autouse=True, scope="module")
def compiled() -> None:
    warm_up(quick_settings())


def sync_of(store: Any, state: Path, graphs: str = LIVE, **source: Any) -> KGSync:
    settings = replace(
        quick_settings(),
        source=SourceSettings(**{"quiet_period": "0.5s", **source}),
        schedule=ScheduleSettings(every="1s", retry_after="0.3s", retry_most="0.5s", max_load=1.0),
    )
    return KGSync(store, graphs, state=state, settings=settings)


@pytest.fixture(params=["oxigraph_server", "virtuoso"])
def server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    server.load(LIVE, text_of(ring(40)))
    return server


def insert(server: Server, edges: list[Edge]) -> None:
    server.update(f"INSERT DATA {{ GRAPH <{LIVE}> {{ {text_of(edges)} }} }}")


def embedded(sync: KGSync) -> int:
    """Edges of the current version."""
    report = sync.status().report
    assert report is not None
    return sum(report.triples.values())


def test_a_graph_that_is_cleared_and_slowly_filled_again_is_never_taken_half(
    server: Server, tmp_path: Path
) -> None:
    sync = sync_of(endpoint_of(server), tmp_path / "state")
    edges = ring(40)
    with running(sync):
        eventually(lambda: sync.status().version == 1)
        server.update(f"CLEAR GRAPH <{LIVE}>")
        eventually(lambda: status_of(sync).paused_since is not None)
        assert sync.status().pause is not None
        for start in range(0, 120, 10):
            insert(server, edges[start : start + 10])
            time.sleep(0.3)
            assert embedded(sync) == 120
        insert(server, [("e1", "likes", "e9")])
        eventually(lambda: sync.status().version == 2, 40)
        eventually(lambda: status_of(sync).paused_since is None)
    assert embedded(sync) == 121
    assert [sum(report.triples.values()) for report in sync.history()] == [120, 121]
    assert sync.status().pause is None


def test_a_look_in_the_middle_of_a_refill_is_not_taken_either(
    oxigraph_server: Server, tmp_path: Path
) -> None:
    """The first look after the CLEAR finds 90 %: less is gone than `max_removed` allows."""
    server = oxigraph_server
    server.clear()
    edges = ring(40)
    server.load(LIVE, text_of(edges[:-12]))
    sync = sync_of(endpoint_of(server), tmp_path / "state", quiet_period="0s")
    server.load(LIVE, text_of(edges[-12:]))
    sync.step()
    server.update(f"DELETE DATA {{ GRAPH <{LIVE}> {{ {text_of(edges[-12:])} }} }}")
    sync.settings = sync_of(server, tmp_path / "x").settings
    rest = threading.Timer(0.2, lambda: insert(server, edges[-6:]))
    rest.start()
    with pytest.raises(TransientStoreError, match="6 missing edges came back"):
        sync.step()
    rest.join()
    insert(server, edges[-12:-6])
    assert not sync.step().changed  # all of it is back


def test_a_graph_that_lost_much_waits_for_accept(server: Server, tmp_path: Path) -> None:
    sync = sync_of(endpoint_of(server), tmp_path / "state")
    edges = ring(40)
    with running(sync):
        eventually(lambda: sync.status().version == 1)
        server.update(f"DELETE DATA {{ GRAPH <{LIVE}> {{ {text_of(edges[:60])} }} }}")
        eventually(lambda: sync.status().pause is not None)
        assert "kgsync accept" in str(sync.status().pause)
        runs = status_of(sync).runs
        eventually(lambda: status_of(sync).runs > runs + 1)  # it is looked at all the same
        assert sync.status().version == 1
        eventually(lambda: accepted(sync))
        eventually(lambda: sync.status().version == 2)
        eventually(lambda: sync.status().pause is None)
    assert embedded(sync) == 60


def accepted(sync: KGSync) -> bool:
    """Accept, unless a step holds the state just now."""
    try:
        sync.accept()
    except StateError:
        return False
    return True


def test_what_was_accepted_is_no_leave_for_more(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    graph = GRAPHS.format(version="1")
    sync = sync_of(store, tmp_path / "state", graph, quiet_period="0s")
    sync.step()

    def remove(edges: list[Edge]) -> None:
        for quad in quads("1", edges):
            store.remove(quad)

    with pytest.raises(StateError, match="nothing is paused"):
        sync.accept()
    remove(versions()["1"][:40])
    with pytest.raises(LargeRemovalError, match="33%"):
        sync.step()
    sync.accept()
    remove(versions()["1"][40:80])
    with pytest.raises(LargeRemovalError, match="67%"):
        sync.step()
    sync.accept()
    assert sync.step().version == 2
    assert sync.status().pause is None


def test_an_emptied_graph_cannot_be_accepted(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, tmp_path / "state", GRAPHS.format(version="1"))
    sync.step()
    store.clear()
    with pytest.raises(VersionError):
        sync.step()
    with pytest.raises(ConfigError, match=r"no change to accept.*the sync then resumes by itself"):
        sync.accept()
    assert sync.status().version == 1


def test_a_broken_chain_pauses_and_a_repaired_one_is_followed(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    one, two = (ox.NamedNode(GRAPHS.format(version=name)) for name in ("1", "2"))
    previous = ox.NamedNode("http://www.w3.org/ns/dcat#previousVersion")
    circle = [ox.Quad(one, previous, two), ox.Quad(two, previous, one)]
    store.add(circle[1])
    sync = sync_of(store, tmp_path / "state", GRAPHS, max_removed=1.0)
    with running(sync):
        eventually(lambda: sync.status().version == 2)
        store.add(circle[0])
        eventually(lambda: "cycle" in (status_of(sync).paused_reason or ""))
        store.remove(circle[0])
        eventually(lambda: status_of(sync).paused_since is None)
        assert status_of(sync).running


def test_no_work_is_done_for_a_disk_that_is_full(small_disk: Path) -> None:
    store = fill(ox.Store(), ["1"])
    sync = sync_of(store, small_disk / "state", GRAPHS, max_removed=1.0)
    sync.step()
    fill(store, ["2"])
    phases: list[str] = []

    class Hearing:
        def phase(self, name: str) -> None:
            phases.append(name)

        def progress(self, name: str, done: int, total: int) -> None: ...

    sync.listener = Hearing()
    (small_disk / "full").write_bytes(bytes(free_of(small_disk) - 8_000))
    with pytest.raises(StateWriteError, match="free some space"):
        sync.step()
    assert "update" not in phases
    (small_disk / "full").unlink()
    assert sync.step().version == 2


def test_no_work_is_done_for_a_disk_that_is_full_by_rebuild_and_adopt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phases: list[Event] = []
    sync = sync_of(fill(ox.Store(), ["1"]), tmp_path / "state", GRAPHS)
    vectors = Path(str(sync.step().files)) / "vectors.parquet"
    other = sync_of(fill(ox.Store(), ["1"]), tmp_path / "other", GRAPHS)
    sync.listener = other.listener = phases.append
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 100}))
        with pytest.raises(StateWriteError, match="free some space"):
            sync.rebuild()
        with pytest.raises(StateWriteError, match="free some space"):
            other.adopt(vectors)
    assert not {PhaseStarted("train"), PhaseStarted("adopt")} & set(phases)
    assert sync.rebuild().version == 2
    assert other.adopt(vectors).version == 1


def test_a_rollback_ends_the_pause_of_the_version_that_it_leaves(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, tmp_path / "state", GRAPHS, max_removed=1.0)
    sync.catch_up()
    fill(store, ["10"])
    sync.settings = replace(sync.settings, source=SourceSettings(graphs=GRAPHS, max_removed=0.0))
    with pytest.raises(LargeRemovalError):
        sync.step()
    sync.rollback(1)
    sync.rollback(2)
    assert sync.status().pause is None


def free_of(folder: Path) -> int:
    import shutil

    return shutil.disk_usage(folder).free

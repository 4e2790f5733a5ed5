"""Publishing that is refused, cut, killed or out of disk: nothing that was whole is less so."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import Graph, Literal, URIRef

from kgsync import open_store, queries
from kgsync.errors import (
    PermanentStoreError,
    StateCorruptedError,
    StateWriteError,
    StoreError,
    TransientStoreError,
)
from kgsync.graph.endpoint import Endpoint
from kgsync.publish.metadata.description import KGE
from tests.adapters.kinds import endpoint_of
from tests.processes import python
from tests.publish.described import NAME, complaints, published
from tests.publish.test_write_back import assert_shows, sync_of, text_of
from tests.servers import faults
from tests.servers.matrix import no_waiting
from tests.servers.messages import Recorded
from tests.servers.proxy import Fault, FaultProxy, Rule
from tests.servers.publishing_kills import Mode
from tests.servers.server import Server
from tests.thinning import thinned
from tests.worlds import GRAPHS, current_versions, disk_store, fill, versions


class Phases:
    """A listener that notes the phases, and does something when one begins."""

    def __init__(self, at: str = "", action: Callable[[], None] = lambda: None) -> None:
        self.seen: list[str] = []
        self._at = at
        self._action = action

    def phase(self, name: str) -> None:
        self.seen.append(name)
        if name == self._at:
            self._action()

    def progress(self, name: str, done: int, total: int) -> None:
        pass


@pytest.fixture
def direct(oxigraph_server: Server) -> Endpoint:
    """A server with all versions of the test world."""
    oxigraph_server.clear()
    for name in versions():
        oxigraph_server.load(GRAPHS.format(version=name), text_of(name))
    return endpoint_of(oxigraph_server)


@pytest.fixture
def proxy(oxigraph_server: Server, proxy_to: Callable[[Server], FaultProxy]) -> FaultProxy:
    return proxy_to(oxigraph_server)


@pytest.fixture
def through(direct: Endpoint, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    """The same server by way of the proxy, by a kgsync without patience."""
    monkeypatch.setattr("kgsync.publish.target._PATIENCE_SECONDS", 0.0)
    url, update_url = proxy.url(direct.url), proxy.url(direct.update_url or "")
    return replace(direct, url=url, update_url=update_url)


def metadata_of(server: Server) -> Graph:
    where = queries.load("_pattern_named_graph").pattern(graph=NAME)
    text = server.query(
        queries.load("_statements").bind(where=where), accept="application/n-triples"
    )
    return Graph().parse(data=text, format="nt")


def written(metadata: Graph, version: int) -> int:
    """How many literals the store says were written for a version."""
    value = metadata.value(URIRef(f"{NAME}#v{version}-literals"), KGE.rowsWritten)
    assert isinstance(value, Literal)
    return int(value)


# -- connections -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["versions", "rolling"])
@pytest.mark.parametrize("passing", thinned([1, 6, 9, 12, 14], {6, 12}.__contains__))
def test_a_cut_connection_is_resumed(
    direct: Endpoint,
    through: Endpoint,
    proxy: FaultProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: Mode,
    passing: int,
) -> None:
    monkeypatch.setattr("kgsync.publish.literals.graph._INSERTED", 10)
    sync = sync_of(through, tmp_path, literals=mode)
    sync.step()
    sync.step()
    seen = 0

    def cut(request: Recorded) -> Fault | None:
        nonlocal seen
        seen += "vectors/" in request.text
        return faults.reset_before_answer(carried_out=True) if seen > passing else None

    def insertions() -> list[str]:
        sent = [request for request in proxy.requests if request not in proxy.faulted]
        return [r.text for r in sent if "INSERT DATA" in r.text and "mbedding>" in r.text]

    proxy.program(cut)
    with no_waiting(), pytest.raises(TransientStoreError):
        sync.step()
    assert seen > passing
    assert_shows(direct, sync, 2)
    before = insertions()
    assert before or passing < 12
    proxy.program()
    report = sync.step()
    assert_shows(direct, sync, 3)
    # What was answered is not sent again, and is counted.
    after = insertions()
    assert not {*before} & {*after}
    rows = [line for text in (*before, *after) for line in text.splitlines() if "mbedding>" in line]
    assert report.literals is not None
    assert len(rows) == len({*rows}) == report.literals["written"]


@pytest.mark.parametrize("code", [401, 403])
@pytest.mark.parametrize("mode", ["versions", "rolling"])
def test_refused_update_rights_are_told_before_training(
    through: Endpoint, proxy: FaultProxy, tmp_path: Path, mode: Mode, code: int
) -> None:
    sync = sync_of(through, tmp_path, literals=mode)
    phases = sync.listener = Phases()
    proxy.program(Rule(faults.status(code), path="/update"))
    reason = "requires credentials" if code == 401 else "denied access"
    with pytest.raises(PermanentStoreError, match=reason):
        sync.step()
    assert phases.seen == ["fetch"]
    assert sync.status().version is None


def test_a_retry_does_not_forget_what_was_written(
    oxigraph_server: Server,
    through: Endpoint,
    proxy: FaultProxy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kgsync.publish.target._PATIENCE_SECONDS", 60.0)
    sync = sync_of(replace(through, retries=0), tmp_path)
    linking = Rule(faults.status(503), contains="rowsWritten", times=1)
    proxy.program(linking)
    report = sync.step()
    assert linking.used == 1
    assert report.literals is not None
    assert report.literals["written"] == 43
    assert written(metadata_of(oxigraph_server), 1) == 43
    assert sync.history()[0].literals == report.literals


# -- going back ------------------------------------------------------------------------------------


def test_a_rollback_keeps_the_figures_of_a_version(tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, tmp_path, keep=3)
    reports = sync.catch_up()
    before = published(store)
    sync.rollback(2)
    assert reports[1].literals is not None
    assert written(published(store), 2) == reports[1].literals["written"] > 0
    lost = set(before) - set(published(store))
    assert {triple[1] for triple in lost} == {URIRef("http://www.w3.org/ns/dcat#hasCurrentVersion")}


@pytest.mark.parametrize(
    ("carried_out", "action"),
    thinned(
        [(True, "rollback"), (False, "rebuild"), (False, "rollback"), (True, "rebuild")],
        lambda case: case == (True, "rollback"),
    ),
)
def test_an_error_at_any_write_leaves_everything_whole(
    oxigraph_server: Server,
    direct: Endpoint,
    through: Endpoint,
    proxy: FaultProxy,
    tmp_path: Path,
    action: str,
    carried_out: bool,
) -> None:
    sync = sync_of(replace(through, retries=0), tmp_path)
    sync.catch_up()
    failed: set[str] = set()

    def fail(request: Recorded) -> Fault | None:
        """Every update fails when it is sent for the first time."""
        text = request.text[:150]
        if "/update" not in request.path or text in failed or "DATA { }" in text:
            return None
        failed.add(text)
        return faults.reset_before_answer(carried_out=carried_out)

    proxy.program(fail)
    while sync.status().version == 4:
        try:
            # Either raises, or has committed and warns.
            sync.rollback(2) if action == "rollback" else sync.rebuild()
        except TransientStoreError:
            assert complaints(metadata_of(oxigraph_server)) == ""
            if sync.status().version == 4:
                assert_shows(direct, sync, 4)
    assert len(failed) > 3
    proxy.program()
    assert sync.step().changed == (action == "rollback")
    assert_shows(direct, sync, 5)
    assert complaints(metadata_of(oxigraph_server)) == ""
    lineage = ["5", "2", "1"] if action == "rollback" else ["5", "4", "3", "2", "1"]
    assert sync.query("lineage").column("number") == lineage


@pytest.mark.parametrize(
    ("mode", "move"),
    thinned(
        [("rolling", "link_literals"), ("versions", "flip")], lambda case: case[0] == "rolling"
    ),
)
def test_a_rollback_killed_in_the_middle_leaves_everything_whole(
    tmp_path: Path, mode: Mode, move: str
) -> None:
    store = disk_store(tmp_path / "kg")
    sync = sync_of(store, tmp_path, literals=mode)
    sync.catch_up()
    code = (
        "import os, signal; from pathlib import Path\n"
        "from tests.publish.test_write_back import sync_of\n"
        "from kgsync.publish.metadata.graph import MetadataGraph\n"
        f"MetadataGraph.{move} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"sync_of(Path({str(store)!r}), Path({str(tmp_path)!r}), literals={mode!r}).rollback(2)"
    )
    assert python(code) == -signal.SIGKILL
    opened = ox.Store(str(store))
    assert current_versions(opened) == ["4"]
    assert complaints(published(opened)) == ""
    del opened
    assert sync.status().version == (2 if move == "flip" else 4)
    sync.rollback(2)
    assert sync.step().version == 5
    assert_shows(store, sync, 5)
    assert sync.query("lineage").column("number") == ["5", "2", "1"]
    opened = ox.Store(str(store))
    assert complaints(published(opened)) == ""


# -- disks and files -------------------------------------------------------------------------------


class Ballast:
    """Fills a disk up, but for some bytes."""

    def __init__(self, disk: Path, free: int) -> None:
        self._disk, self._free = disk, free

    def fill(self) -> None:
        found = os.statvfs(self._disk)
        size = found.f_bavail * found.f_frsize - self._free
        (self._disk / "ballast").write_bytes(bytes(size))

    def remove(self) -> None:
        (self._disk / "ballast").unlink()


@pytest.mark.parametrize("mode", ["versions", "rolling"])
@pytest.mark.parametrize("free", [0, 8192])
def test_a_disk_that_fills_up_while_literals_are_written(
    small_disk: Path, mode: Mode, free: int
) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = sync_of(store, small_disk, literals=mode)
    sync.step()
    ballast = Ballast(small_disk, free)
    sync.listener = Phases("stage", ballast.fill)
    if free and mode == "versions":
        assert sync.step().version == 2  # it keeps nothing that large
        return
    with pytest.raises(StateWriteError, match=r"free some space.*committed version is untouched"):
        sync.step()
    assert sync.status().version == 1
    assert_shows(store, sync, 1)
    assert not list(sync.state.path.rglob("*.new"))
    ballast.remove()
    sync.listener = Phases()
    assert sync.step().version == 2
    assert_shows(store, sync, 2)


def test_a_store_whose_disk_fills_up_while_literals_are_written(
    small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgsync.publish.target._PATIENCE_SECONDS", 0.0)
    store = disk_store(small_disk / "kg", ["1", "2"])
    sync = sync_of(store, tmp_path)
    sync.step()
    ballast = Ballast(small_disk, 0)
    sync.listener = Phases("stage", ballast.fill)
    with pytest.raises(StoreError, match="No space left"):
        sync.step()
    assert sync.status().version == 1
    ballast.remove()
    sync.listener = Phases()
    assert_shows(store, sync, 1)
    assert sync.step().version == 2
    assert_shows(store, sync, 2)


def test_a_rollback_says_what_came_before_the_disk_was_full(small_disk: Path) -> None:
    store = fill(ox.Store())
    sync = sync_of(store, small_disk)
    sync.catch_up()
    ballast = Ballast(small_disk, 0)
    sync.listener = Phases("publish", ballast.fill)
    with pytest.raises(StateWriteError, match="version 2 is current in the state, but"):
        sync.rollback(2)
    ballast.remove()
    sync.listener = Phases()
    assert sync.status().version == 2
    assert sync.step().version == 5
    assert_shows(store, sync, 5)


@pytest.mark.parametrize("name", ["index.parquet", "tensors.safetensors"])
def test_damaged_files_are_never_published(tmp_path: Path, name: str) -> None:
    store = fill(ox.Store(), ["1"])
    sync_of(store, tmp_path, literals="none").step()
    path = tmp_path / "state" / "000001" / "embeddings" / name
    content = bytearray(path.read_bytes())
    content[-300 if name == "index.parquet" else -3] ^= 1
    path.write_bytes(content)
    with pytest.raises(StateCorruptedError, match=f"{name} does not match its checksum"):
        sync_of(store, tmp_path).step()
    assert not [name for name in open_store(store).graphs() if "/vectors/" in name]

"""Whole syncs on real servers: what a user of an endpoint gets, against an embedded store."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import typer

from kgsync import KGSync
from kgsync.cli.commands.check import check
from kgsync.cli.output import output
from kgsync.config import ScheduleSettings, Settings, SourceSettings, StateSettings
from kgsync.errors import PermanentStoreError, TransientStoreError, VersionError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import OUTPUT_GRAPH
from kgsync.source.doctor import Finding, examine
from tests.adapters.kinds import endpoint_of
from tests.servers import faults
from tests.servers.matrix import no_waiting
from tests.servers.proxy import FaultProxy, Rule
from tests.servers.server import Server
from tests.worlds import EX, GRAPHS, Edge, fill, iri, quick_settings, ring, versions

LIVE = EX + "live"
CATALOG = EX + "catalog"
ISSUED = "http://purl.org/dc/terms/issued"
READY = EX + "ready"


def text_of(edges: Iterable[Edge]) -> str:
    return "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in edges)


def name(version: str) -> str:
    return GRAPHS.format(version=version)


def load(server: Server, *names: str) -> None:
    everything = versions()
    for version in names or everything:
        server.load(name(version), text_of(everything[version]))


def settings_of(**source: Any) -> Settings:
    options = {"quiet_period": "0s", "max_removed": 1.0, **source}
    return replace(quick_settings(), source=SourceSettings(**options))


def sync_of(store: Any, state: Path, graphs: str | None = GRAPHS, **source: Any) -> KGSync:
    return KGSync(store, graphs, state=state, settings=settings_of(**source))


def vectors(sync: KGSync) -> dict[str, Any]:
    """Every vector of the current version."""
    found = {}
    for entity in [*(f"e{i}" for i in range(40)), "new"]:
        try:
            found[entity] = sync.embedding(iri(entity))
        except KeyError:
            continue
    return found


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(np.array_equal(one[e], other[e]) for e in one)


@pytest.fixture(params=["oxigraph_server", "virtuoso"])
def server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    return server


# -- the same as an embedded store -----------------------------------------------------------------


@pytest.mark.parametrize("max_rows", [None, 100])
def test_versions_on_a_server_give_the_same_vectors_as_in_an_embedded_store(
    server: Server, tmp_path: Path, max_rows: int | None
) -> None:
    load(server)
    embedded = sync_of(fill(ox.Store()), tmp_path / "embedded")
    remote = sync_of(endpoint_of(server, max_rows=max_rows), tmp_path / "remote")
    for version in versions():
        here, there = embedded.step(), remote.step()
        assert here.graph_version == there.graph_version == name(version)
        assert here.change == there.change
        assert same(vectors(embedded), vectors(remote))
    assert remote.catch_up() == []


def test_a_live_graph_on_a_server_is_followed(server: Server, tmp_path: Path) -> None:
    server.load(LIVE, text_of(ring(40)))
    remote = sync_of(endpoint_of(server), tmp_path / "remote", LIVE)
    store = ox.Store()
    live = ox.NamedNode(LIVE)
    store.load(text_of(ring(40)).encode(), format=ox.RdfFormat.N_TRIPLES, to_graph=live)
    embedded = sync_of(store, tmp_path / "embedded", LIVE)
    assert remote.step().changed
    assert embedded.step().changed
    assert not remote.step().changed  # what was published is no part of it
    changes = [
        f"INSERT DATA {{ GRAPH <{LIVE}> {{ {text_of([('e1', 'likes', 'new')])} }} }}",
        f"DELETE DATA {{ GRAPH <{LIVE}> {{ {text_of(ring(40)[:4])} }} }}",
        f'INSERT DATA {{ GRAPH <{LIVE}> {{ <{EX}e1> <{EX}name> "one" ; <{EX}p> <{EX}e9> }} }}',
    ]
    for change in changes:
        server.update(change)
        store.update(change)
        here, there = embedded.step(), remote.step()
        assert here.change == there.change
        assert there.changed
        assert same(vectors(embedded), vectors(remote))
    assert not remote.step().changed


# -- metadata --------------------------------------------------------------------------------------


def marked(server: Server) -> list[list[str]]:
    return server.rows(f"SELECT ?g WHERE {{ GRAPH ?g {{ ?g a <{OUTPUT_GRAPH}> }} }}")


def test_metadata_goes_into_the_server_and_is_marked_as_ours(
    server: Server, tmp_path: Path
) -> None:
    load(server, "1", "2")
    sync = sync_of(endpoint_of(server), tmp_path / "state")
    sync.settings = replace(sync.settings, state=StateSettings(keep=1))
    for report in sync.catch_up():
        assert not report.warnings
    assert marked(server) == [["urn:kgsync:state"]]
    current = (
        "PREFIX dcat: <http://www.w3.org/ns/dcat#> SELECT ?v WHERE { GRAPH <urn:kgsync:state> "
        "{ ?d dcat:hasCurrentVersion ?c . ?c dcat:version ?v } }"
    )
    assert server.rows(current) == [["2"]]
    with_files = (
        "PREFIX dcat: <http://www.w3.org/ns/dcat#> SELECT DISTINCT ?v WHERE "
        "{ GRAPH <urn:kgsync:state> { ?v dcat:distribution ?file } }"
    )
    assert server.rows(with_files) == [["urn:kgsync:state#v2"]]
    server.update("CLEAR GRAPH <urn:kgsync:state>")
    assert not sync.step().changed  # it is published again
    assert server.rows(current) == [["2"]]


def test_without_an_address_for_updates_metadata_stays_in_the_state(
    server: Server, tmp_path: Path
) -> None:
    load(server, "1")
    sync = sync_of(endpoint_of(server, update_url=None), tmp_path / "state")
    assert sync.step().warnings == ()
    assert marked(server) == []
    assert (tmp_path / "state" / "metadata.oxigraph").is_dir()


# -- versions that are being loaded ----------------------------------------------------------------


def test_a_version_that_grows_is_not_taken(oxigraph_server: Server, tmp_path: Path) -> None:
    server = oxigraph_server
    server.clear()
    edges = versions()["1"]
    server.load(name("1"), text_of(edges[:60]))
    sync = sync_of(endpoint_of(server), tmp_path / "state", quiet_period="0.6s")
    loader = threading.Timer(0.2, lambda: server.load(name("1"), text_of(edges[60:])))
    loader.start()
    with pytest.raises(TransientStoreError, match="still being loaded: 60 triples, then 120"):
        sync.step()
    loader.join()
    assert sync.status().version is None
    report = sync.step()
    assert report.changed
    assert sync.history()[0].graph_version == name("1")
    embedded = sync_of(fill(ox.Store(), ["1"]), tmp_path / "embedded")
    embedded.step()
    assert same(vectors(embedded), vectors(sync))


@pytest.mark.parametrize("schedule", [{"latest_only": True}, {"min_change": 1000}])
def test_a_newer_version_that_grows_is_not_taken_instead(
    oxigraph_server: Server, tmp_path: Path, schedule: dict[str, Any]
) -> None:
    server = oxigraph_server
    server.clear()
    load(server, "1")
    sync = sync_of(endpoint_of(server), tmp_path / "state", quiet_period="0.6s")
    sync.settings = replace(sync.settings, schedule=ScheduleSettings(**schedule))
    assert sync.step().graph_version == name("1")
    load(server, "2")
    edges = versions()["10"]
    server.load(name("10"), text_of(edges[:20]))
    loader = threading.Timer(0.2, lambda: server.load(name("10"), text_of(edges[20:])))
    loader.start()
    if "latest_only" in schedule:
        with pytest.raises(TransientStoreError, match="still being loaded"):
            sync.step()
        loader.join()
        assert sync.step().graph_version == name("10")
    else:
        assert sync.step().gathered == (name("2"),)
        loader.join()
        time.sleep(0.6)
        assert sync.step().gathered == (name("2"), name("10"))


def test_versions_at_rest_are_waited_for_once(oxigraph_server: Server, tmp_path: Path) -> None:
    oxigraph_server.clear()
    load(oxigraph_server, "1", "2", "10")
    sync = sync_of(endpoint_of(oxigraph_server), tmp_path / "state", quiet_period="1s")
    started = time.monotonic()
    sync.step()
    assert time.monotonic() - started >= 1
    started = time.monotonic()
    sync.step()
    sync.step()
    assert sync.status().version == 3
    looks = json.loads((tmp_path / "state" / "looks.json").read_text())
    assert time.time() - looks[name("10")]["at"] >= 1


def test_a_version_is_taken_when_the_catalogue_calls_it_ready(
    server: Server, tmp_path: Path
) -> None:
    load(server, "1", "2")
    server.load(CATALOG, f'<{name("1")}> <{READY}> "yes" .\n')
    sync = sync_of(
        endpoint_of(server), tmp_path / "state", ready=READY, catalog=CATALOG, quiet_period="1h"
    )
    assert [report.graph_version for report in sync.catch_up()] == [name("1")]
    assert sync.plan().pending == (name("2"),)
    server.load(CATALOG, f'<{name("2")}> <{READY}> "yes" .\n')
    assert [report.graph_version for report in sync.catch_up()] == [name("2")]


def test_no_version_that_is_ready_is_an_error_that_names_the_property(
    oxigraph_server: Server, tmp_path: Path
) -> None:
    oxigraph_server.clear()
    load(oxigraph_server, "1")
    oxigraph_server.load(CATALOG, f'<{name("1")}> <{EX}other> "yes" .\n')
    sync = sync_of(endpoint_of(oxigraph_server), tmp_path / "s", ready=READY, catalog=CATALOG)
    with pytest.raises(VersionError, match=READY):
        sync.step()


# -- kgsync check ----------------------------------------------------------------------------------


def found(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.what: finding for finding in findings}


def test_check_tells_what_a_server_is_and_can_do(server: Server) -> None:
    load(server, "1", "2")
    findings = found(examine(endpoint_of(server), settings_of(graphs=GRAPHS), None))
    assert {finding.result for finding in findings.values()} <= {"ok", "note"}
    assert "2 in the order of their names" in findings["versions"].found
    assert "without a change in size" in findings["readiness"].found
    assert "in one answer" in findings["extraction"].found
    assert "MINUS" in findings["changes"].found
    assert "updates are allowed" in findings["writing"].found
    assert ("Virtuoso" if "sparql" in server.query_url else "query") in findings["store"].found


def test_check_finds_the_limit_on_rows(virtuoso: Server) -> None:
    virtuoso.clear()
    text = "".join(f"<{EX}s{i}> <{EX}p> <{EX}o> .\n" for i in range(10_100))
    virtuoso.load(LIVE, text)
    findings = found(examine(endpoint_of(virtuoso), settings_of(graphs=LIVE), None))
    assert "at most 10,000 rows per answer" in findings["extraction"].found
    assert "in parts" in findings["extraction"].found


def test_check_without_the_right_to_write(virtuoso: Server) -> None:
    virtuoso.clear()
    load(virtuoso, "1")
    nobody = endpoint_of(virtuoso, password="wrong")
    writing = found(examine(nobody, settings_of(graphs=GRAPHS), None))["writing"]
    assert (writing.result, writing.remedy) == (
        "problem",
        "set `auth`, and its secrets in the environment",
    )
    reader = endpoint_of(virtuoso, update_url=None)
    assert found(examine(reader, settings_of(graphs=GRAPHS), None))["writing"].result == "note"
    wrong = Endpoint(virtuoso.query_url, virtuoso.query_url)
    assert found(examine(wrong, settings_of(graphs=GRAPHS), None))["writing"].result == "problem"


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (faults.reset_before_answer(), "check the address and that the server is running"),
        (faults.status(404), "check the path of the URL"),
        (faults.status(401), "set `auth`, and its secrets in the environment"),
        (faults.status(403), "check the permissions of the user"),
        (faults.html_page(), "check that the URL is that of a SPARQL endpoint"),
    ],
    ids=["unreachable", "404", "401", "403", "a web page"],
)
def test_check_has_a_remedy_for_what_it_finds(
    oxigraph_server: Server,
    proxy_to: Callable[[Server], FaultProxy],
    fault: Any,
    remedy: str,
) -> None:
    proxy = proxy_to(oxigraph_server)
    proxy.program(Rule(fault))
    endpoint = Endpoint(proxy.url(oxigraph_server.query_url), retries=1)
    with no_waiting():
        (finding,) = examine(endpoint, settings_of(), None)
    assert (finding.what, finding.result, finding.remedy) == ("store", "problem", remedy)


def test_the_command_prints_findings_for_people_and_for_scripts(
    oxigraph_server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    oxigraph_server.clear()
    load(oxigraph_server, "1", "2")
    config = tmp_path / "none.toml"
    try:
        check(oxigraph_server.query_url, GRAPHS, config=config, json=True)
        findings = json.loads(capsys.readouterr().out)["findings"]
        assert {finding["what"] for finding in findings} >= {"store", "versions", "size", "writing"}
        with pytest.raises(typer.Exit) as ended:
            check(oxigraph_server.query_url, EX + "no/{version}", config=config)
        assert ended.value.exit_code == 4
        assert "PROBLEM" in capsys.readouterr().out
    finally:
        output.json = False


def test_an_endpoint_that_is_only_read_says_how_to_write(oxigraph_server: Server) -> None:
    from kgsync.graph.stores import open_store

    store = open_store(oxigraph_server.query_url)
    with pytest.raises(PermanentStoreError, match="set `update_url`"):
        store.update("CLEAR ALL")

"""Vectors as literals in a store that refuses some IRIs: all others are there, and it is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsync import KGSync
from kgsync.errors import PermanentStoreError
from kgsync.publish.literals.datatypes import DATATYPES, decode
from tests.adapters.kinds import endpoint_of
from tests.publish.test_write_back import expected, read, sync_of
from tests.servers import faults
from tests.servers.messages import Recorded
from tests.servers.proxy import Fault, FaultProxy, Rule
from tests.servers.server import Server
from tests.worlds import GRAPHS, iri, ring

ProxyTo = Callable[[Server], FaultProxy]
ODD = ["a\u2028b", "c\u2029d", "e\u3000f"]
"""Names that SPARQL and Oxigraph allow, and Jena's parser refuses."""


def load(server: Server, version: str, size: int, names: list[str]) -> None:
    edges = [*ring(size), *((name, "next", "e1") for name in names)]
    edges += [("e2", "skip", name) for name in names]
    text = "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in edges)
    server.load(GRAPHS.format(version=version), text)


def assert_shows_all_but(target: Any, sync: KGSync, left_out: set[tuple[str, str]]) -> None:
    seen, found = read(target)
    wanted = {key: row for key, row in expected(sync).items() if key not in left_out}
    assert seen == str(sync.status().version)
    assert found.keys() == wanted.keys()
    for key, text in found.items():
        assert decode(text, DATATYPES["list"].iri).tobytes() == wanted[key].tobytes()


@pytest.mark.parametrize("mode", ["versions", "rolling"])
def test_jena_gets_every_vector_but_those_whose_iris_it_refuses(
    jena: Server, tmp_path: Path, mode: str
) -> None:
    jena.clear()
    sync = sync_of(endpoint_of(jena), tmp_path, literals=mode)
    left_out = {(iri(name), "entity") for name in ODD}
    for number, size in enumerate((30, 32, 34), start=1):
        load(jena, str(number), size, ODD)
        report = sync.step()
        assert report.version == number
        assert report.literals is not None
        assert report.literals["left_out"] == len(ODD)
        assert report.literals["written"] + report.literals["unchanged"] == size + 3
        assert any("3 vector(s) were not written as literals" in text for text in report.warnings)
        assert_shows_all_but(endpoint_of(jena), sync, left_out)
    assert not sync.step().changed


def refusing(*parts: str) -> Callable[[Recorded], Fault | None]:
    """Refuses updates and queries that name any of these, beside a vector or to look for one."""

    def choose(request: Recorded) -> Fault | None:
        named = any(f"<{part}>" in request.text for part in parts)
        return faults.status(400, b"bad IRI") if named and "mbedding>" in request.text else None

    return choose


@pytest.mark.parametrize("mode", ["versions", "rolling"])
def test_elements_that_a_store_refuses_are_found_by_halving_and_remembered(
    oxigraph_server: Server, proxy_to: ProxyTo, tmp_path: Path, mode: str
) -> None:
    server = oxigraph_server
    server.clear()
    proxy = proxy_to(server)
    target = endpoint_of(
        server, url=proxy.url(server.query_url), update_url=proxy.url(server.update_url)
    )
    sync = sync_of(target, tmp_path, literals=mode)
    proxy.program(refusing(iri("e3"), iri("e20"), iri("skip")))
    left_out = {(iri("e3"), "entity"), (iri("e20"), "entity"), (iri("skip"), "relation")}
    for number, size in enumerate((40, 41, 42), start=1):
        load(server, str(number), size, [])
        report = sync.step()
        assert report.literals is not None
        assert report.literals["left_out"] == 3
        assert_shows_all_but(endpoint_of(server), sync, left_out)
        if number == 1:
            assert 0 < len(proxy.faulted) < 60
    known = sync.state.recall("literals.json")["copies"]
    assert all(copy["known"] or copy["refused"] for copy in known)
    proxy.program(refusing(iri("e3"), iri("e20"), iri("skip")))
    load(server, "4", 43, [])
    sync.step()
    assert proxy.faulted == []


def test_an_element_that_is_refused_only_later_costs_the_rolling_copy_nothing(
    oxigraph_server: Server, proxy_to: ProxyTo, tmp_path: Path
) -> None:
    server = oxigraph_server
    server.clear()
    proxy = proxy_to(server)
    target = endpoint_of(
        server, url=proxy.url(server.query_url), update_url=proxy.url(server.update_url)
    )
    sync = sync_of(target, tmp_path, literals="rolling")
    for number, size in enumerate((40, 41, 42, 43), start=1):
        load(server, str(number), size, [])
        if number == 3:  # the graph of version 1, which holds it, is brought to this one
            proxy.program(refusing(iri("e3")))
        sync.step()
        refused = {(iri("e3"), "entity")} if number >= 3 else set()
        assert_shows_all_but(endpoint_of(server), sync, refused)


@pytest.mark.parametrize("status", [400, 401])
def test_a_store_that_refuses_every_vector_is_an_error_soon(
    oxigraph_server: Server, proxy_to: ProxyTo, tmp_path: Path, status: int
) -> None:
    server = oxigraph_server
    server.clear()
    load(server, "1", 500, [])
    proxy = proxy_to(server)
    target = endpoint_of(
        server, url=proxy.url(server.query_url), update_url=proxy.url(server.update_url)
    )
    every = "ns#embedding>" if status == 400 else "vectors/1/list"
    proxy.program(Rule(faults.status(status, b"no vectors here"), contains=every, path="/update"))
    settings = sync_of(target, tmp_path).settings
    model = replace(settings, training=replace(settings.training, epochs=1))
    sync = KGSync(target, GRAPHS, state=tmp_path / "state", settings=model)
    with pytest.raises(PermanentStoreError, match="no vectors here" if status == 400 else "401"):
        sync.step()
    assert len(proxy.faulted) <= (70 if status == 400 else 3)
    assert sync.status().version is None

"""Credentials: sent where they belong, in the way that was asked for, and shown to nobody."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kgsync import KGSync
from kgsync.adapters.sparql.store import SparqlStore
from kgsync.config import EndpointSettings, Settings
from kgsync.errors import ConfigError, KgsyncError, PermanentStoreError, StoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.port import TripleSource
from kgsync.graph.stores import store_identity, store_label, store_name
from kgsync.source.doctor import examine
from tests.adapters.kinds import endpoint_of
from tests.graph.graphs import EX
from tests.servers import faults
from tests.servers.matrix import no_waiting
from tests.servers.messages import Answer
from tests.servers.proxy import Exchange, Fault, FaultProxy, Rule
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso

ProxyTo = Callable[[Server], FaultProxy]

USER, PASSWORD, TOKEN, KEY = "somebody", "pass:w@rd/ü", "t0k3n-secret", "k3y-secret"
GRAPH = EX + "safe"
ALL: dict[str, dict[str, Any]] = {
    "basic": {"auth": "basic", "user": USER, "password": PASSWORD},
    "bearer": {"auth": "bearer", "token": TOKEN},
    "headers": {"headers": {"X-Api-Key": KEY}},
}


def sent(way: str) -> tuple[str, str]:
    """The header that carries a secret, and its value."""
    pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    return {
        "basic": ("Authorization", f"Basic {pair}"),
        "bearer": ("Authorization", f"Bearer {TOKEN}"),
        "headers": ("X-Api-Key", KEY),
    }[way]


def guarded(way: str) -> Fault:
    """A server that answers nobody without the secret."""
    name, value = sent(way)

    def fault(exchange: Exchange) -> None:
        if exchange.request.header(name) == value:
            exchange.pass_on()
        else:
            exchange.answer(Answer(401, [("WWW-Authenticate", 'Basic realm="x"')], b"who?"))

    return fault


@pytest.fixture
def proxy(oxigraph_server: Server, proxy_to: ProxyTo) -> FaultProxy:
    return proxy_to(oxigraph_server)


def opened(proxy: FaultProxy, server: Server, **options: Any) -> SparqlStore:
    return SparqlStore(endpoint_of(server, url=proxy.url(server.query_url), retries=0, **options))


@pytest.mark.parametrize("way", ALL)
def test_the_right_secret_opens_and_a_wrong_one_does_not(
    oxigraph_server: Server, proxy: FaultProxy, way: str
) -> None:
    proxy.program(Rule(guarded(way)))
    opened(proxy, oxigraph_server, **ALL[way]).select("SELECT ?s WHERE { } LIMIT 1")
    wrong: dict[str, dict[str, Any]] = {
        "basic": {"auth": "basic", "user": USER, "password": "no"},
        "bearer": {"auth": "bearer", "token": "no"},
        "headers": {"headers": {"X-Api-Key": "no"}},
    }
    for options in ({}, wrong[way]):
        proxy.program(Rule(guarded(way)))
        said = "authentication failed" if "auth" in options else "requires credentials"
        with pytest.raises(PermanentStoreError, match=rf"{said} \(HTTP 401\)"):
            opened(proxy, oxigraph_server, **options)
        assert len(proxy.requests) == 1


def test_digest_opens_virtuoso_for_writing_again_and_again(virtuoso: Virtuoso) -> None:
    virtuoso.clear()
    store = SparqlStore(endpoint_of(virtuoso))
    for i in range(12):  # more often than the standard handler allows
        store.insert(GRAPH, f"<{EX}s{i}> <{EX}p> <{EX}o> .\n")
    assert store.count(TripleSource(GRAPH)) == 12


@pytest.mark.parametrize(
    "options", [{"auth": "none"}, {"password": "wrong"}, {"auth": "basic"}, {"user": "nobody"}]
)
def test_virtuoso_refuses_whoever_it_does_not_know(
    virtuoso: Virtuoso, proxy_to: ProxyTo, options: dict[str, Any]
) -> None:
    proxy = proxy_to(virtuoso)
    store = SparqlStore(endpoint_of(virtuoso, update_url=proxy.url(virtuoso.update_url), **options))
    said = "requires credentials" if options == {"auth": "none"} else "authentication failed"
    with pytest.raises(PermanentStoreError, match=rf"{said} at the update URL \(HTTP 401\)"):
        store.insert(GRAPH, f"<{EX}s> <{EX}p> <{EX}o> .\n")
    assert len(proxy.requests) <= 2


def test_virtuoso_refuses_writing_at_the_address_for_reading(virtuoso: Virtuoso) -> None:
    store = SparqlStore(Endpoint(virtuoso.query_url, virtuoso.query_url))
    with pytest.raises(PermanentStoreError, match="denied access"):
        store.insert(GRAPH, f"<{EX}s> <{EX}p> <{EX}o> .\n")


@pytest.mark.parametrize("scheme", ["Negotiate", "Bearer", "Nonsense", ""])
def test_a_server_that_asks_for_another_way_is_a_clear_error(
    oxigraph_server: Server, proxy: FaultProxy, scheme: str
) -> None:
    asked = [("WWW-Authenticate", scheme)] if scheme else []
    proxy.program(Rule(lambda exchange: exchange.answer(Answer(401, asked, b"no"))))
    with pytest.raises(PermanentStoreError, match="authentication failed"):
        opened(proxy, oxigraph_server, auth="digest", user=USER, password=PASSWORD)


# -- redirects -------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("way", ALL)
def test_another_host_gets_no_secret(
    oxigraph_server: Server, proxy: FaultProxy, proxy_to: ProxyTo, way: str, code: int
) -> None:
    other = proxy_to(oxigraph_server)
    proxy.program(Rule(faults.redirected(code, other.base_url)))
    try:
        opened(proxy, oxigraph_server, **ALL[way])
    except StoreError:
        assert code == 303  # the query does not go along
    assert sent(way)[1] in str(proxy.requests[0].headers)
    (request,) = other.requests
    assert request.header("Authorization") is None
    for secret in (PASSWORD, TOKEN, KEY, sent("basic")[1]):
        assert secret not in str(request.headers)
    if code != 303:
        assert request.method == "POST"
        assert "MD5" in request.text


def test_another_host_cannot_ask_for_a_digest(
    virtuoso: Virtuoso, oxigraph_server: Server, proxy: FaultProxy, proxy_to: ProxyTo
) -> None:
    other = proxy_to(virtuoso)  # it asks for a digest, and would take it
    store = opened(
        proxy,
        oxigraph_server,
        update_url=proxy.url(virtuoso.update_url),
        auth="digest",
        user="dba",
        password="dba",
    )
    proxy.program(Rule(faults.redirected(307, other.base_url)))
    with pytest.raises(PermanentStoreError, match="401"):
        store.insert(GRAPH, f"<{EX}s> <{EX}p> <{EX}o> .\n")
    assert [request.header("Authorization") for request in other.requests] == [None]


@pytest.mark.parametrize("way", ALL)
def test_the_same_host_gets_the_secret_again(
    oxigraph_server: Server, proxy: FaultProxy, way: str
) -> None:
    moved = faults.redirected(307, proxy.base_url)
    proxy.program(Rule(moved, times=1), Rule(guarded(way)))
    opened(proxy, oxigraph_server, **ALL[way])
    assert len(proxy.requests) == 2


@pytest.mark.parametrize("to", ["file:///etc/passwd?", "ftp://127.0.0.1/x?"])
def test_a_redirect_out_of_the_web_is_an_error(
    oxigraph_server: Server, proxy: FaultProxy, to: str
) -> None:
    answer = Answer(302, [("Location", to)])
    proxy.program(Rule(lambda exchange: exchange.answer(answer)))
    with pytest.raises(PermanentStoreError):
        opened(proxy, oxigraph_server)


def test_a_circle_of_redirects_ends(oxigraph_server: Server, proxy: FaultProxy) -> None:
    proxy.program(Rule(faults.redirected(307, proxy.base_url)))
    with pytest.raises(PermanentStoreError):
        opened(proxy, oxigraph_server)
    assert len(proxy.requests) < 20


# -- nothing is shown ------------------------------------------------------------------------------

SECRETS = (PASSWORD, "pass%3Aw%40rd", TOKEN, KEY, base64.b64encode(PASSWORD.encode()).decode())


def silent(text: str) -> None:
    for secret in (*SECRETS, USER):
        assert secret not in text


@pytest.mark.parametrize("way", [*ALL, "url"])
def test_no_secret_is_ever_shown(
    oxigraph_server: Server,
    proxy: FaultProxy,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    way: str,
) -> None:
    oxigraph_server.clear()
    caplog.set_level(logging.DEBUG)
    url = proxy.url(oxigraph_server.query_url)
    in_url = url.replace("http://", f"http://{USER}:pass%3Aw%40rd%2F%C3%BC@")
    target: Any = in_url if way == "url" else Endpoint(url, retries=0, **ALL[way])
    silent(store_label(target))
    silent(store_name(target))
    silent(str(store_identity(target, tmp_path)))
    endpoint = EndpointSettings(retries=0).applied(target)
    silent(f"{endpoint} {endpoint!r} {endpoint.with_secrets()!r} {endpoint.with_secrets()}")
    settings = replace(
        Settings(), source=replace(Settings().source, endpoint=EndpointSettings(retries=0))
    )
    sync = KGSync(target, EX + "{version}", state=tmp_path / "state", settings=settings)
    for fault in (faults.status(500), faults.status(401), faults.html_page(), None):
        proxy.program(*([Rule(fault)] if fault else []))
        with no_waiting(), pytest.raises(KgsyncError) as error:
            sync.step()
        seen: BaseException | None = error.value
        while seen is not None:
            silent(f"{seen} {seen!r}")
            seen = seen.__cause__ or seen.__context__
        assert sent("basic" if way == "url" else way)[1] in str(proxy.requests[0].headers)
        silent(str(examine(endpoint, Settings(), None)))
    silent(f"{sync.status()}")
    silent(caplog.text)
    for file in (tmp_path / "state").rglob("*"):
        if file.is_file():
            silent(file.read_bytes().decode(errors="replace"))


def test_an_address_that_is_none_is_refused_without_its_secret() -> None:
    for url in (f"ftp://{USER}:{TOKEN}@host/sparql", f"http://{USER}:{TOKEN}@/sparql"):
        with pytest.raises(ConfigError, match="not the URL") as error:
            Endpoint(url)
        silent(str(error.value))
    with pytest.raises(ConfigError, match="not the URL") as error:
        Endpoint("http://host/sparql", update_url=f"ftp://{USER}:{TOKEN}@host/update")
    silent(str(error.value))


def test_a_secret_in_the_address_for_updates_is_taken_out_too() -> None:
    endpoint = Endpoint("http://host/q", update_url=f"http://{USER}:{TOKEN}@host/u")
    assert endpoint.update_url == "http://host/u"
    assert (endpoint.auth, endpoint.user, endpoint.password) == ("basic", USER, TOKEN)
    silent(repr(endpoint))


# -- from the environment --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("auth", "names"),
    [
        ("basic", ["KGSYNC_USER", "KGSYNC_PASSWORD"]),
        ("digest", ["KGSYNC_USER", "KGSYNC_PASSWORD"]),
        ("bearer", ["KGSYNC_TOKEN"]),
    ],
)
def test_secrets_come_from_the_environment_and_are_missed_by_name(
    monkeypatch: pytest.MonkeyPatch, auth: Any, names: list[str]
) -> None:
    for name in ("KGSYNC_USER", "KGSYNC_PASSWORD", "KGSYNC_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    endpoint = Endpoint("http://127.0.0.1:1/sparql", auth=auth)
    for name in names:
        with pytest.raises(ConfigError, match=f"set the environment variable {name}"):
            SparqlStore(endpoint)
        monkeypatch.setenv(name, f"value of {name}")
    found = endpoint.with_secrets()
    assert [getattr(found, name.partition("_")[2].lower()) for name in names] == [
        f"value of {name}" for name in names
    ]
    silent(repr(found))

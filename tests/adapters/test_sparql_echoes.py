"""A server that repeats our credentials: no message, log or cause of an error has them."""

from __future__ import annotations

import base64
import html
import json
import logging
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from kgsync.adapters.sparql.store import SparqlStore
from kgsync.errors import StoreError
from kgsync.graph.port import TripleSource
from tests.adapters.kinds import endpoint_of
from tests.graph.graphs import EX
from tests.servers.messages import Answer
from tests.servers.proxy import Exchange, Fault, FaultProxy, Rule
from tests.servers.server import Server

ProxyTo = Callable[[Server], FaultProxy]
USER, PASSWORD, TOKEN, KEY = "somebody", 'pass:w@rd/ü "&<b>', "t0k3n-secret+/=", "k3y  secret"
PAIR = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
WAYS: dict[str, dict[str, Any]] = {
    "basic": {"auth": "basic", "user": USER, "password": PASSWORD},
    "digest": {"auth": "digest", "user": USER, "password": PASSWORD},
    "bearer": {"auth": "bearer", "token": TOKEN},
    "headers": {"headers": {"X-Api-Key": KEY}},
}
SECRETS = {"basic": [PASSWORD, PAIR], "digest": [PASSWORD], "bearer": [TOKEN], "headers": [KEY]}


def forms(way: str) -> list[str]:
    """The ways in which a secret of ours may come back."""
    spelt: list[Callable[[str], str]] = [
        str,
        quote,
        quote_plus,
        lambda secret: quote(secret, safe=""),
        html.escape,
        lambda secret: json.dumps(secret)[1:-1],
        lambda secret: base64.b64encode(secret.encode()).decode(),
        lambda secret: base64.urlsafe_b64encode(secret.encode()).decode(),
    ]
    return sorted({spell(secret) for secret in SECRETS[way] for spell in spelt})


def echo(way: str, status: int, media_type: str, *, padding: int = 0) -> Fault:
    """Answers with all that it was told in confidence."""

    def fault(exchange: Exchange) -> None:
        sent = [f"{name}: {value}" for name, value in exchange.request.headers]
        text = "<i>" * padding + " ".join(f"you sent [{form}]" for form in (*forms(way), *sent))
        headers = [("Content-Type", media_type), ("Server", "echo"), ("X-SQL-State", "")]
        exchange.answer(Answer(status, headers[:2], text.encode()))

    return fault


def silent(text: str, way: str) -> None:
    for form in forms(way):
        assert form not in text, form
    assert "response=" not in text or "response=***" in text


def everything_of(error: BaseException) -> str:
    """All that could be printed of an error, and of what is behind it."""
    texts = ["".join(traceback.format_exception(error))]
    seen: BaseException | None = error
    while seen is not None:
        texts += [str(seen), repr(seen), repr(seen.args)]
        seen = seen.__cause__ or seen.__context__
    return "\n".join(texts)


ANSWERS = {
    "400": (400, "text/plain"),
    "403": (403, "text/html"),
    "500": (500, "text/plain"),
    "another type": (200, "text/html"),
    "JSON that is none": (200, "application/sparql-results+json"),
    "CSV that is none": (200, "text/csv"),
    "N-Triples that are none": (200, "application/n-triples"),
    "XML that is none": (200, "application/sparql-results+xml"),
}


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize("way", WAYS)
def test_what_a_server_repeats_is_not_repeated_by_us(
    oxigraph_server: Server,
    proxy_to: ProxyTo,
    caplog: pytest.LogCaptureFixture,
    way: str,
    answer: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    proxy = proxy_to(oxigraph_server)
    url = proxy.url(oxigraph_server.query_url)
    store = SparqlStore(endpoint_of(oxigraph_server, url=url, retries=0, **WAYS[way]))
    proxy.program(Rule(echo(way, *ANSWERS[answer])))
    source = TripleSource(EX + "g")
    for ask in (
        lambda: store.select("SELECT ?x WHERE { }"),
        lambda: store.count(source),
        lambda: store._client.push(store._pattern(source), lambda _: None, careful=False),
        lambda: store._client.push(store._pattern(source), lambda _: None, careful=True),
        lambda: store.scan(source, lambda _: None),
    ):
        with pytest.raises(StoreError) as error:
            ask()
        silent(everything_of(error.value), way)
    assert proxy.requests
    silent(caplog.text, way)
    silent(store.describe(), way)


def test_a_secret_that_is_cut_at_the_end_of_what_is_read_is_not_shown_in_part() -> None:
    from kgsync.adapters.sparql.messages import Messages
    from kgsync.graph.endpoint import Endpoint

    messages = Messages(Endpoint("http://host/q", auth="bearer", token="abcdefghijkl" * 20))
    for padding in range(0, 1400, 7):
        body = b"<i>" * padding + b"abcdefghijkl" * 20
        assert "abc" not in messages.said(body[:4096], cut=len(body) > 4096), padding
    assert "abc" not in messages.clean(f"x{'abcdefghijkl' * 20}")


def test_a_short_password_does_not_eat_messages() -> None:
    from kgsync.adapters.sparql.messages import Messages
    from kgsync.graph.endpoint import Endpoint

    messages = Messages(Endpoint("http://host/q", auth="basic", user="u", password="a"))
    assert messages.clean("a table: password a, 'a'") == "*** table: password ***, '***'"


def test_the_server_header_is_clean(oxigraph_server: Server, proxy_to: ProxyTo) -> None:
    proxy = proxy_to(oxigraph_server)

    def named(exchange: Exchange) -> None:
        exchange.answer(exchange.forward().with_header("Server", f"Echo {TOKEN}\x9b31m"))

    proxy.program(Rule(named))
    url = proxy.url(oxigraph_server.query_url)
    store = SparqlStore(endpoint_of(oxigraph_server, url=url, **WAYS["bearer"]))
    assert store.describe() == "Echo ***\\x9b31m"

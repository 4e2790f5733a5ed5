"""Live stores and proxies for tests of every folder; a missing program skips the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.servers.jena import Jena
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.proxy import FaultProxy
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso


def _require(kind: type[Server]) -> None:
    if reason := kind.missing():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def virtuoso() -> Iterator[Virtuoso]:
    """One Virtuoso for all tests, capped at 10,000 rows: not to be stopped."""
    _require(Virtuoso)
    with Virtuoso() as server:
        yield server


@pytest.fixture(scope="session")
def oxigraph_server() -> Iterator[OxigraphServer]:
    """One Oxigraph in memory for all tests: not to be stopped."""
    _require(OxigraphServer)
    with OxigraphServer() as server:
        yield server


@pytest.fixture(scope="session")
def jena() -> Iterator[Jena]:
    """One Jena in memory for all tests: not to be stopped."""
    _require(Jena)
    with Jena() as server:
        yield server


@pytest.fixture
def new_virtuoso() -> Iterator[Callable[..., Virtuoso]]:
    """Starts a Virtuoso of the test's own, with the arguments of the class."""
    _require(Virtuoso)
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(Virtuoso(*args, **options))


@pytest.fixture
def new_oxigraph_server() -> Iterator[Callable[..., OxigraphServer]]:
    """Starts an Oxigraph of the test's own, with the arguments of the class."""
    _require(OxigraphServer)
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(OxigraphServer(*args, **options))


@pytest.fixture
def proxy_to() -> Iterator[Callable[[Server], FaultProxy]]:
    """Puts a proxy before a server, until the test ends."""
    with ExitStack() as stack:
        yield lambda server: stack.enter_context(FaultProxy(server.base_url))

"""The servers start, keep what they promise to keep, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.adapters.kinds import MIXED
from tests.servers import server as server_module
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.server import HOST, Server, ServerError
from tests.servers.virtuoso import Virtuoso

EX = "http://example.org/"
GRAPH, OTHER = EX + "kg/1", EX + "kg/Zürich's"
INSERT = f"INSERT DATA {{ GRAPH <{GRAPH}> {{ <{EX}s> <{EX}p> <{EX}new> }} }}"

NewOxigraph = Callable[..., OxigraphServer]
NewVirtuoso = Callable[..., Virtuoso]


def ntriples(count: int) -> str:
    return "".join(f"<{EX}s{i}> <{EX}p> <{EX}o{i % 7}> .\n" for i in range(count))


@pytest.fixture(params=["virtuoso", "oxigraph_server"])
def server(request: pytest.FixtureRequest) -> Server:
    server: Server = request.getfixturevalue(request.param)
    server.clear()
    return server


def test_a_graph_is_loaded_counted_changed_and_cleared(server: Server) -> None:
    server.load(GRAPH, ntriples(1000))
    server.load(OTHER, MIXED)
    assert server.count(GRAPH) == 1000
    assert server.count(OTHER) == 15
    server.load(GRAPH, f"<{EX}s0> <{EX}p> <{EX}Zürich> .\n".encode())
    assert server.rows(
        f"SELECT ?o {{ GRAPH <{GRAPH}> {{ <{EX}s0> <{EX}p> ?o }} }} ORDER BY ?o"
    ) == [
        [f"{EX}Zürich"],
        [f"{EX}o0"],
    ]
    server.update(INSERT)
    assert server.count(GRAPH) == 1002
    server.clear()
    assert server.count(GRAPH) == server.count(OTHER) == 0


def test_a_graph_is_written_by_the_graph_store_protocol(server: Server) -> None:
    headers = {"Content-Type": "application/n-triples"}
    server.request("PUT", f"{server.graph_store_url}?graph={GRAPH}", ntriples(5).encode(), headers)
    assert server.count(GRAPH) == 5


def test_a_graph_created_empty_is_cleared_too(server: Server) -> None:
    for _ in range(2):
        server.update(f"CREATE GRAPH <{GRAPH}>")
        server.clear()


def test_a_load_that_does_not_parse_is_an_error(server: Server) -> None:
    with pytest.raises(ServerError):
        server.load(GRAPH, "<http://a> nonsense .\n")


def test_virtuoso_cuts_results_at_its_cap(virtuoso: Virtuoso) -> None:
    virtuoso.clear()
    virtuoso.load(GRAPH, ntriples(10_500))
    assert virtuoso.count(GRAPH) == 10_500
    assert len(virtuoso.rows(f"SELECT ?s {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")) == 10_000


def test_virtuoso_lets_only_its_user_write(virtuoso: Virtuoso) -> None:
    with pytest.raises(ServerError, match="SR186"):
        virtuoso.request(
            "POST",
            virtuoso.query_url,
            INSERT.encode(),
            {"Content-Type": "application/sparql-update"},
        )


def test_virtuoso_without_cap_and_login_keeps_its_data_through_stop_and_kill(
    new_virtuoso: NewVirtuoso,
) -> None:
    virtuoso = new_virtuoso(None, anonymous_updates=True)
    assert virtuoso.update_url == virtuoso.query_url
    virtuoso.load(GRAPH, ntriples(10_500))
    assert len(virtuoso.rows(f"SELECT ?s {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")) == 10_500
    address = virtuoso.query_url
    virtuoso.update(INSERT)
    virtuoso.kill()
    virtuoso.restart()
    assert virtuoso.query_url == address
    assert virtuoso.count(GRAPH) == 10_501
    virtuoso.update(INSERT.replace("new", "newer"))
    virtuoso.stop()
    with pytest.raises(OSError, match="refused"):
        virtuoso.query("ASK {}")


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_oxigraph_on_disk_keeps_its_data(
    how: str, new_oxigraph_server: NewOxigraph, tmp_path: Path
) -> None:
    server = new_oxigraph_server(tmp_path / "data")
    server.load(GRAPH, ntriples(1000))
    server.load(None, ntriples(3))
    server.update(INSERT)
    address = server.query_url
    getattr(server, how)()
    server.restart()
    assert server.query_url == address
    assert server.count(GRAPH) == 1001
    assert server.rows("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }") == [["3"]]


def test_oxigraph_in_memory_forgets(new_oxigraph_server: NewOxigraph) -> None:
    server = new_oxigraph_server()
    server.load(GRAPH, ntriples(10))
    server.restart()
    assert server.count(GRAPH) == 0


def test_oxigraph_breaks_off_at_its_time_limit(new_oxigraph_server: NewOxigraph) -> None:
    server = new_oxigraph_server(timeout_s=1)
    server.load(GRAPH, ntriples(2000))
    # It looks at the clock where triples are joined by a shared variable, not in a plain product.
    triples = f"GRAPH <{GRAPH}> {{ ?a ?p ?c . ?d ?p ?f . ?g ?p ?i }}"
    few = 'STRSTARTS(MD5(CONCAT(STR(?a), STR(?d), STR(?g))), "00")'
    text = server.query(f"SELECT ?a {{ {triples} FILTER({few}) }}")
    assert text.endswith("\r\nThe SPARQL operation has been cancelled")


def test_a_port_that_is_taken_is_given_up_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    free_ports = server_module.free_ports
    with socket.create_server((HOST, 0)) as taken:
        answers = [[taken.getsockname()[1]]]
        monkeypatch.setattr(
            server_module, "free_ports", lambda n: answers.pop() if answers else free_ports(n)
        )
        with OxigraphServer() as server:
            assert not answers
            assert server.query("ASK {}", "application/sparql-results+json")


def test_a_server_that_cannot_start_says_why_and_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    server = OxigraphServer(tmp_path / "file")
    with pytest.raises(ServerError, match="did not start"):
        server.start()
    assert not server.folder.exists()


def test_closing_removes_the_folder() -> None:
    with OxigraphServer() as server:
        folder = server.folder
        assert folder.is_dir()
    assert not folder.exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_its_owner(how: signal.Signals) -> None:
    program = (
        "import signal, time\n"
        "from tests.servers.oxigraph_server import OxigraphServer\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "server = OxigraphServer().start()\n"
        "print(server.pid, server.folder, flush=True)\n"
        "time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        pid, folder = owner.stdout.readline().split()
        assert runs(int(pid))
        owner.send_signal(how)
    deadline = time.monotonic() + 10
    while runs(int(pid)) or Path(folder).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def runs(pid: int) -> bool:
    """Whether a process lives; one that only waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False

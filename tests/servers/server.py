"""A real store in a process of its own: started on free ports, and never left behind."""

from __future__ import annotations

import csv
import io
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"

# Leads the group of the server's processes. Its input ends when its owner ends, even by SIGKILL.
_KEEPER = 'read -r _; rm -rf -- "$1"; kill -KILL 0'
_ATTEMPTS = 3
_START_S = 180.0
_STOP_S = 60.0


class ServerError(RuntimeError):
    """A server that did not start, or that refused what a test asked of it."""


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on just now; another process may still take one."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


class Server(ABC):
    """A SPARQL server that tests start, fill, stop, kill and start again.

    `start` is explicit or by `with`. `stop` and `kill` keep data and ports for `restart`;
    `close` gives everything back.
    """

    credentials: tuple[str, str] | None = None
    """User and password for `update_url`, by HTTP Digest; None where everybody may write."""
    ports_needed = 1

    def __init__(self) -> None:
        self._ports: list[int] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._keeper: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None

    @classmethod
    @abstractmethod
    def missing(cls) -> str | None:
        """What to install before this server can start, or None."""

    @property
    @abstractmethod
    def query_url(self) -> str:
        """Where SPARQL queries are sent."""

    @property
    @abstractmethod
    def update_url(self) -> str:
        """Where SPARQL updates are sent."""

    @property
    @abstractmethod
    def graph_store_url(self) -> str:
        """Where the graph store protocol is spoken; a graph is named by `?graph=IRI`."""

    @abstractmethod
    def load(self, graph: str, ntriples: str | bytes) -> None:
        """Adds triples to a graph; when it returns, they survive `kill`."""

    @abstractmethod
    def clear(self) -> None:
        """Removes every graph a test has made."""

    @abstractmethod
    def _command(self, folder: Path, ports: list[int]) -> list[str]:
        """The command that serves on these ports in the foreground."""

    @abstractmethod
    def _online(self, log: str) -> bool:
        """Whether the log says that this very process listens."""

    _stop_signal: signal.Signals = signal.SIGTERM

    @property
    def folder(self) -> Path:
        """A temporary folder of the server's own, gone after `close`."""
        if self._folder is None:
            raise ServerError("the server was never started")
        return self._folder

    @property
    def base_url(self) -> str:
        """Scheme, host and port."""
        if not self._ports:
            raise ServerError("the server was never started")
        return f"http://{HOST}:{self._ports[0]}"

    @property
    def pid(self) -> int | None:
        """The id of the running process."""
        return self._process.pid if self._process is not None else None

    @property
    def log(self) -> str:
        """What the server has printed, over all its starts."""
        return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def start(self) -> Self:
        """Returns when the server answers queries."""
        if self._process is not None:
            raise ServerError("the server runs already")
        if reason := self.missing():
            raise ServerError(reason)
        if self._keeper is None:
            self._folder = Path(tempfile.mkdtemp(prefix=f"kgsync-{type(self).__name__.lower()}-"))
            self._keeper = subprocess.Popen(
                ["/bin/sh", "-c", _KEEPER, "keeper", str(self._folder)],
                stdin=subprocess.PIPE,
                process_group=0,
            )
        kept = self._ports
        try:
            for _ in range(_ATTEMPTS):
                if self._launch(kept or free_ports(self.ports_needed)):
                    return self
                time.sleep(0.2)
        except BaseException:
            self.close()
            raise
        log = self.log
        self.close()
        raise ServerError(f"{type(self).__name__} did not start:\n{log[-2000:]}")

    def stop(self) -> None:
        """Ends the server in good order."""
        self._end(self._stop_signal)

    def kill(self) -> None:
        """Ends the server by SIGKILL."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Starts the server again, on the same ports and with what it kept."""
        self.stop()
        self.start()

    def close(self) -> None:
        """Ends the server and removes its folder."""
        self.kill()
        if self._keeper is not None:
            self._keeper.communicate()
            self._keeper = None
            self._ports = []

    def __enter__(self) -> Self:
        return self if self._process is not None else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def query(self, text: str, accept: str = "text/csv") -> str:
        """The body of the answer to a query."""
        form = urllib.parse.urlencode({"query": text}).encode()
        return self.request("POST", self.query_url, form, {"Accept": accept}).decode()

    def update(self, text: str) -> None:
        """Carries out an update."""
        headers = {"Content-Type": "application/sparql-update"}
        self.request("POST", self.update_url, text.encode(), headers)

    def rows(self, text: str) -> list[list[str]]:
        """The rows of a SELECT, as CSV writes them."""
        return list(csv.reader(io.StringIO(self.query(text), newline="")))[1:]

    def count(self, graph: str) -> int:
        """How many triples a graph holds; no row cap touches it."""
        return int(self.rows(f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}")[0][0])

    def request(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
        timeout: float = 120,
    ) -> bytes:
        """Sends one request, with the credentials if asked for them; errors carry the body."""
        handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
        if self.credentials is not None:
            passwords = urllib.request.HTTPPasswordMgrWithDefaultRealm()
            passwords.add_password(None, self.base_url, *self.credentials)
            handlers.append(urllib.request.HTTPDigestAuthHandler(passwords))
        request = urllib.request.Request(url, body, headers or {}, method=method)
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=timeout) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode(errors="replace")
            raise ServerError(f"{method} {url}: {error.code} {text[:2000]}") from error

    def _launch(self, ports: list[int]) -> bool:
        """Whether the server came up; False when it ended, as it does when a port is taken."""
        assert self._keeper is not None
        command = self._command(self.folder, ports)
        with (self.folder / "server.log").open("ab") as output:
            before = output.tell()
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                process_group=self._keeper.pid,
            )
        self._ports = ports
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                self._process = None
                return False
            new = (self.folder / "server.log").read_bytes()[before:]
            if self._online(new.decode(errors="replace")) and self._answers():
                return True
            time.sleep(0.03)
        raise ServerError(f"{type(self).__name__} did not answer in {_START_S:g} s:\n{self.log}")

    def _answers(self) -> bool:
        try:
            self.request("POST", self.query_url, b"query=ASK%7B%7D", timeout=10)
        except (OSError, ServerError):
            return False
        return True

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            raise ServerError(f"{type(self).__name__} did not end on {how.name}") from None
        except BaseException:
            process.kill()
            process.wait()
            raise


class OpenServer(Server):
    """A server that anyone may read and change, with the usual three addresses."""

    _graph_store: str
    """Last part of the address at which graphs are loaded."""
    _load_option = ""

    @property
    def query_url(self) -> str:
        return f"{self.base_url}/query"

    @property
    def update_url(self) -> str:
        return f"{self.base_url}/update"

    @property
    def graph_store_url(self) -> str:
        return f"{self.base_url}/{self._graph_store}"

    def load(self, graph: str | None, ntriples: str | bytes) -> None:
        """None is the default graph."""
        where = "default" if graph is None else urllib.parse.urlencode({"graph": graph})
        self.request(
            "POST",
            f"{self.graph_store_url}?{where}{self._load_option}",
            ntriples if isinstance(ntriples, bytes) else ntriples.encode(),
            {"Content-Type": "application/n-triples"},
        )

    def clear(self) -> None:
        self.update("DROP ALL")

"""Virtuoso as its Debian package gives it, in a temporary folder."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from tests.servers.server import HOST, Server, ServerError

_INI = """\
[Database]
DatabaseFile = {folder}/v.db
ErrorLogFile = {folder}/v.log
LockFile = {folder}/v.lck
TransactionFile = {folder}/v.trx
xa_persistent_file = {folder}/v.pxa
TempStorage = TempDatabase
[TempDatabase]
DatabaseFile = {folder}/vt.db
TransactionFile = {folder}/vt.trx
[Parameters]
ServerPort = {host}:{sql_port}
DisableUnixSocket = 1
DirsAllowed = {folder}
NumberOfBuffers = 20000
MaxDirtyBuffers = 15000
[HTTPServer]
ServerPort = {host}:{http_port}
ServerRoot = {folder}
ServerThreads = 10
[SPARQL]
{cap}
"""
# In SPARQL, over HTTP, this takes 20 s for 200,000 triples.
_GRAPHS = "select id_to_iri (G) from (select distinct G from DB.DBA.RDF_QUAD) graphs;"


class Virtuoso(Server):
    """A Virtuoso that anyone may read and `dba` may change.

    Args:
        max_rows: The cap on the rows of a result, as public endpoints have it; None for none.
        anonymous_updates: Whether anyone may change it, so that `/sparql` takes updates.
    """

    ports_needed = 2
    # It writes a checkpoint on SIGINT, not on SIGTERM.
    _stop_signal = signal.SIGINT

    def __init__(self, max_rows: int | None = 10_000, *, anonymous_updates: bool = False) -> None:
        super().__init__()
        self.max_rows = max_rows
        self.anonymous_updates = anonymous_updates
        self.credentials = None if anonymous_updates else ("dba", "dba")
        self._own_graphs: list[str] | None = None

    @classmethod
    def missing(cls) -> str | None:
        for program in ("virtuoso-t", "isql-vt"):
            if shutil.which(program) is None:
                return f"{program} is not installed: apt-get install virtuoso-opensource-7-bin"
        return None

    @property
    def query_url(self) -> str:
        return f"{self.base_url}/sparql"

    @property
    def update_url(self) -> str:
        return f"{self.base_url}/sparql" + ("" if self.anonymous_updates else "-auth")

    @property
    def graph_store_url(self) -> str:
        return f"{self.base_url}/sparql-graph-crud" + ("" if self.anonymous_updates else "-auth")

    def start(self) -> Self:
        super().start()
        if self._own_graphs is None:
            self._own_graphs = self.isql(_GRAPHS).split()
            if self.anonymous_updates:
                self.isql('grant SPARQL_UPDATE to "SPARQL";')
        return self

    def load(self, graph: str, ntriples: str | bytes) -> None:
        with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".nt") as file:
            file.write(ntriples if isinstance(ntriples, bytes) else ntriples.encode())
            file.flush()
            text = f"file_to_string_output ({_sql(file.name)})"
            # The loader writes no log: without the checkpoint a kill would lose the triples.
            self.isql(f"DB.DBA.TTLP_MT ({text}, '', {_sql(graph)}, 0);", "checkpoint;")

    def clear(self) -> None:
        kept = ", ".join(f"iri_to_id ({_sql(graph)})" for graph in self._own_graphs or [])
        self.isql(
            # Rows are deleted one by one: a large graph is too much for one transaction.
            "log_enable (2, 1);",
            f"delete from DB.DBA.RDF_QUAD where G not in ({kept});",
            "delete from DB.DBA.RDF_EXPLICITLY_CREATED_GRAPH;",
            "checkpoint;",
        )

    def isql(self, *statements: str) -> str:
        """What `isql` prints for SQL statements, each ended by a semicolon."""
        command = ["isql-vt", f"{HOST}:{self._ports[1]}", "dba", "dba", "errors=stdout"]
        done = subprocess.run(
            [*command, "verbose=off", "banner=off", "prompt=off"],
            input="\n".join([*statements, ""]),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode or "*** Error " in done.stdout:
            raise ServerError(f"isql: {done.stdout}{done.stderr}")
        return done.stdout

    def _command(self, folder: Path, ports: list[int]) -> list[str]:
        http_port, sql_port = ports
        cap = "" if self.max_rows is None else f"ResultSetMaxRows = {self.max_rows}"
        ini = folder / "virtuoso.ini"
        ini.write_text(
            _INI.format(folder=folder, host=HOST, http_port=http_port, sql_port=sql_port, cap=cap)
        )
        return ["virtuoso-t", "+foreground", "+configfile", str(ini)]

    def _online(self, log: str) -> bool:
        return "Server online at" in log


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"

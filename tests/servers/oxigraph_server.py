"""The Oxigraph server as PyPI gives it, in memory or on disk."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.servers.server import HOST, OpenServer


def _program() -> Path:
    """Beside the interpreter, where pip puts it."""
    return Path(sys.executable).with_name("oxigraph")


class OxigraphServer(OpenServer):
    """An Oxigraph that anyone may read and change.

    Args:
        location: Where it keeps its data; None keeps them in memory, until it ends.
        timeout_s: After how many seconds it breaks off a query.
    """

    # Without a transaction it uses its bulk loader.
    _graph_store, _load_option = "store", "&no_transaction"

    def __init__(self, location: Path | None = None, *, timeout_s: int | None = None) -> None:
        super().__init__()
        self.location = location
        self.timeout_s = timeout_s

    @classmethod
    def missing(cls) -> str | None:
        return None if _program().is_file() else "oxigraph is not installed: pip install oxigraph"

    def _command(self, folder: Path, ports: list[int]) -> list[str]:
        command = [str(_program()), "serve", "--bind", f"{HOST}:{ports[0]}"]
        if self.location is not None:
            command += ["--location", str(self.location.absolute())]
        if self.timeout_s is not None:
            command += ["--timeout-s", str(self.timeout_s)]
        return command

    def _online(self, log: str) -> bool:
        return "Listening for requests" in log

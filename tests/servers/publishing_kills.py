"""Publishing, killed at random, while a reader looks: `python -m tests.servers.publishing_kills`.

Whatever dies, kgsync or the server, every answer a reader gets is one whole version.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import signal
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

from kgsync import KGSync, open_store
from kgsync.config import PublishSettings, SourceSettings, StateSettings
from kgsync.errors import StoreError
from kgsync.graph.endpoint import Endpoint
from kgsync.publish.literals import graph as literal_graph
from kgsync.publish.literals.content import KINDS, Content
from kgsync.publish.literals.datatypes import encode
from tests.adapters.kinds import endpoint_of
from tests.processes import forks
from tests.servers.oxigraph_server import OxigraphServer
from tests.servers.server import Server
from tests.servers.virtuoso import Virtuoso
from tests.worlds import GRAPHS, Edge, iri, quick_settings, ring

Mode = Literal["versions", "rolling"]
Victim = Literal["kgsync", "server"]

READ = """
PREFIX dcat: <http://www.w3.org/ns/dcat#>
PREFIX kge: <https://w3id.org/kgsync/ns#>
SELECT ?version ?element ?property ?vector WHERE {
  GRAPH <urn:kgsync:state> {
    ?dataset dcat:hasCurrentVersion ?current .
    ?current dcat:version ?version ; dcat:distribution/kge:graph ?graph
  }
  VALUES ?property { kge:embedding kge:relationEmbedding }
  GRAPH ?graph { ?element ?property ?vector }
}
"""
_AT_A_TIME = 5
"""Literals in one insertion: few, so that there are many moments to die in."""
_LONG = 0.4
"""Seconds after the beginning of publishing within which something dies."""


@dataclass
class Outcome:
    """What a reader saw of it all."""

    kills: int = 0
    """Kills in the middle of publishing."""
    late: int = 0
    """Kills that came when publishing was over already: they show nothing."""
    committed: int = 0
    answers: int = 0
    """Answers that were one whole version."""
    wrong: list[str] = field(default_factory=list)
    """Any other answer."""
    published: bool = False
    """Whether, left alone at the end, the last version is what readers see."""


def edges_of(number: int) -> list[Edge]:
    """A version: the same ring, with other chords each time."""
    chords = [(f"e{i}", "chord", f"e{(i * 7 + number) % 40}") for i in range(0, 40, 4)]
    return [*ring(40), *chords, (f"new{number}", "next", "e1"), ("e2", "next", f"new{number}")]


def sync_of(
    endpoint: Endpoint, folder: Path, mode: Mode, listener: _Teller | None = None
) -> KGSync:
    settings = replace(
        quick_settings(),
        source=SourceSettings(quiet_period="0s", max_removed=1.0),
        state=StateSettings(keep=1000),
        publish=PublishSettings(literals=mode),
    )
    state = folder / "state"
    return KGSync(endpoint, GRAPHS, state=state, settings=settings, listener=listener)


class _Teller:
    """A listener that tells the parent when publishing begins."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe

    def phase(self, name: str) -> None:
        if name == "stage":
            self._pipe.send(name)

    def progress(self, name: str, done: int, total: int) -> None:
        pass


def step(endpoint: Endpoint, folder: Path, mode: Mode, pipe: Connection) -> None:
    """One step, in a process that may be killed."""
    literal_graph._INSERTED = _AT_A_TIME
    try:
        sync_of(endpoint, folder, mode, _Teller(pipe)).step()
        pipe.send("done")
    except StoreError as error:
        pipe.send(f"error: {error}")


class _Reader(threading.Thread):
    """Asks for the current vectors all the time."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(daemon=True)
        self._endpoint = replace(endpoint, retries=0)
        self._ended = threading.Event()
        self.seen: list[tuple[str, str]] = []
        """For every answer the versions in it, and a digest of the vectors."""

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                rows = open_store(self._endpoint).select(READ)
            except StoreError:
                time.sleep(0.02)
                continue
            versions = ",".join(sorted({row[0].value for row in rows if row[0]}))
            literals = sorted((e.value, p.value, v.value) for _, e, p, v in rows if e and p and v)
            self.seen.append((versions, _digest(literals)))

    def end(self) -> list[tuple[str, str]]:
        self._ended.set()
        self.join()
        return self.seen


def chase(server: Server, folder: Path, mode: Mode, victim: Victim, kills: int) -> Outcome:
    """Publish version after version, killing in the middle as often as asked; see what is read."""
    randomly, endpoint, outcome = random.Random(kills), endpoint_of(server), Outcome()
    server.clear()
    for number in range(1, kills + 3):
        _load(server, number)
    quiet = sync_of(endpoint, folder, mode)
    quiet.step()
    reader = _Reader(endpoint)
    reader.start()
    context = forks()
    while outcome.kills < kills:
        here, there = context.Pipe()
        child = context.Process(target=step, args=(endpoint, folder, mode, there))
        child.start()
        if here.recv() == "stage":
            time.sleep(randomly.uniform(0, _LONG))
            if victim == "kgsync":
                hit = killed_in_the_middle(child, here)
            else:
                server.kill()
                hit = in_the_middle(child, here)
                server.start()
            if hit:
                outcome.kills += 1
            else:
                outcome.late += 1
                _load(server, kills + 2 + outcome.late)  # that version is spent
        child.join()
    while quiet.step().changed:
        pass
    time.sleep(0.2)
    seen = reader.end()
    wanted = {str(v.manifest.version): _of_files(v.path) for v in quiet.state.readable_versions()}
    outcome.committed = len(wanted)
    outcome.published = bool(seen) and seen[-1] == list(wanted.items())[-1]
    for versions, digest in seen:
        if wanted.get(versions) == digest:
            outcome.answers += 1
        else:
            outcome.wrong.append(versions or "none")
    return outcome


def killed_in_the_middle(child: BaseProcess, pipe: Connection) -> bool:
    """Kill a step; tell whether it had not ended yet."""
    child.kill()
    child.join()
    return child.exitcode == -signal.SIGKILL and not _told(pipe)


def in_the_middle(child: BaseProcess, pipe: Connection) -> bool:
    """Whether a step that has begun to publish has not ended yet."""
    return child.is_alive() and not _told(pipe)


def _told(pipe: Connection) -> bool:
    """Whether the other side has said how it ended."""
    try:
        return pipe.poll() and bool(pipe.recv())
    except EOFError:
        return False


def _load(server: Server, number: int) -> None:
    text = "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in edges_of(number))
    server.load(GRAPHS.format(version=str(number)), text)


def _of_files(folder: Path) -> str:
    content = Content.of_sidecar(folder / "embeddings")
    literals = [
        (name, property_, text)
        for kind, property_ in KINDS.items()
        for name, text in zip(
            content.iris[kind].to_pylist(),
            encode(content.tables[kind], "list").to_pylist(),
            strict=True,
        )
    ]
    return _digest(sorted(literals))


def _digest(literals: list[tuple[str, str, str]]) -> str:
    return hashlib.sha256(repr(literals).encode()).hexdigest()


def main() -> None:
    """Kill as often as asked, and print what readers saw."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.publishing_kills")
    parser.add_argument("--times", type=int, default=20)
    options = parser.parse_args()
    modes: tuple[Mode, Mode] = ("versions", "rolling")
    victims: tuple[Victim, Victim] = ("kgsync", "server")
    for kind in (OxigraphServer, Virtuoso):
        for mode in modes:
            for victim in victims:
                with tempfile.TemporaryDirectory() as temporary:
                    folder = Path(temporary)
                    server = kind(folder / "data") if kind is OxigraphServer else kind()
                    with server:
                        found = chase(server, folder, mode, victim, options.times)
                shown = "is" if found.published else "is NOT"
                print(
                    f"{kind.__name__}, {mode}, {victim} killed {found.kills + found.late} times, "
                    f"{found.kills} of them in the middle: {found.answers} answers of one whole "
                    f"version, {len(found.wrong)} others {found.wrong[:3] or ''}, "
                    f"{found.committed} versions, the last {shown} shown",
                    flush=True,
                )


if __name__ == "__main__":
    main()

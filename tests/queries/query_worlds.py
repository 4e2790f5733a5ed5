"""Syncs to be asked: in embedded stores and on servers, with all their vectors as literals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import Dataset

from kgsync import KGSync
from kgsync.config import PublishSettings, SourceSettings
from kgsync.graph.stores import StoreTarget
from kgsync.state.report import StepReport
from tests.adapters.kinds import endpoint_of
from tests.servers.server import Server
from tests.thinning import thinned
from tests.worlds import EX, GRAPHS, fill, iri, quick_settings, versions

KINDS = ["embedded", "rdflib", "oxigraph_server", "virtuoso"]
EMBEDDED = {"embedded", "rdflib"}
TYPICAL = thinned(KINDS, lambda kind: kind != "rdflib")
"""rdflib reads the same files as the embedded store, slowly."""
FOREIGN = f"""
<{EX}catalogue> <http://www.w3.org/ns/dcat#hasCurrentVersion> <{EX}catalogue/9> .
<{EX}catalogue> <http://www.w3.org/ns/dcat#hasVersion> <{EX}catalogue/9> .
<{EX}catalogue/9> <http://www.w3.org/ns/dcat#version> "9" .
"""
"""Somebody's own catalogue, in the same words as ours."""


@dataclass(frozen=True)
class World:
    """A sync of four versions that keeps all vectors as literals."""

    kind: str
    sync: KGSync

    def ask(self, query: str, **parameters: Any) -> list[dict[str, Any]]:
        table = self.sync.query(query, **parameters)
        return [dict(zip(table.columns, row, strict=True)) for row in table]

    @property
    def reports(self) -> list[StepReport]:
        return self.sync.history()


def embedded_store() -> ox.Store:
    """All versions, and somebody else's catalogue."""
    store = fill(ox.Store())
    store.load(FOREIGN.encode(), ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(EX + "mine"))
    return store


def target_of(kind: str, request: pytest.FixtureRequest) -> StoreTarget:
    """The same in a store of any kind."""
    if kind == "embedded":
        return embedded_store()
    if kind == "rdflib":
        dataset = Dataset()
        text = fill(ox.Store()).dump(format=ox.RdfFormat.N_QUADS)
        dataset.parse(data=text or b"", format="nquads")
        dataset.graph(EX + "mine").parse(data=FOREIGN, format="nt")
        return dataset
    server: Server = request.getfixturevalue(kind)
    server.clear()
    for version, edges in versions().items():
        text_of = "".join(f"<{iri(s)}> <{iri(p)}> <{iri(o)}> .\n" for s, p, o in edges)
        server.load(GRAPHS.format(version=version), text_of)
    server.load(EX + "mine", FOREIGN)
    return endpoint_of(server)


def sync_of(store: StoreTarget, state: Path, graphs: str | None = GRAPHS, **publish: Any) -> KGSync:
    """A sync that keeps everything, unless told otherwise."""
    chosen = {"literals": "versions", "keep": 9, **publish}
    settings = replace(
        quick_settings(),
        source=SourceSettings(quiet_period="0s", max_removed=1.0),
        publish=PublishSettings(**chosen),
    )
    return KGSync(store, graphs, state=state, settings=settings)


def living(version: str) -> set[str]:
    """The entities of a version."""
    return {iri(name) for s, _, o in versions()[version] for name in (s, o)}

"""`kgsync demo`: an evolving graph in an embedded store, synced version by version."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.demo_graph import BASE, HEROINE, DemoWorld
from kgsync.cli.options import Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.step_reports import show_history
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.vectors.embeddings import Neighbor

__all__ = ["COMMAND", "GRAPHS", "build_store", "demo"]

VERSIONS = 6
GRAPHS = f"{BASE}kg/{{version}}"
_MARK = ".kgsync-demo"

_CONFIG = f"""\
# The demo's settings: a small graph needs fewer batches and a higher rate than the defaults.
[source]
store = "graph.oxigraph"
graphs = "{GRAPHS}"

[state]
path = "state"
keep = {VERSIONS}

[model]
name = "transe"
dimension = 50
norm = "l2"

[training]
epochs = 150
batches = 20
learning_rate = 0.01

[update]
strategy = "auto"

[publish]
graph = "urn:kgsync:demo"
literals = "versions"
"""


def demo(
    folder: Annotated[Path, typer.Argument(help="Folder; must be new, empty or a demo.")] = Path(
        "kgsync-demo"
    ),
    json: Json = False,
) -> None:
    """Build an evolving graph in an embedded store, sync all its versions, show the results."""
    output.json = json
    _clear(folder)
    (folder / "kgsync.toml").write_text(_CONFIG, encoding="utf-8")
    output.heading(f"Building {VERSIONS} versions of an invented world in {folder}/graph.oxigraph")
    world = build_store(folder / "graph.oxigraph")
    with opened_sync(folder / "kgsync.toml") as sync:
        output.heading("Syncing: the first version is trained from scratch, the others are updates")
        reports = [sync.step()]
        first = sync.neighbors(HEROINE, 5)
        reports += sync.catch_up()
        last = sync.neighbors(HEROINE, 5)
        relation = f"{BASE}ontology/influencedBy"
        predicted = sync.predict(head=HEROINE, relation=relation, k=3, new_only=True)
    show_history(reports)
    output.heading("Mara Ilves, a poet, moved abroad and became a composer in version 4")
    rows = [(_short(a, world), _short(b, world)) for a, b in zip(first, last, strict=True)]
    output.table(["nearest in version 1", f"nearest in version {VERSIONS}"], rows)
    output.heading("What else she may have: predicted, not in the graph")
    for prediction in predicted:
        output.text(f"  influencedBy {_local(prediction.iri)} (score {prediction.score:.2f})")
    output.heading("Output")
    output.text(f"  vectors   {reports[-1].files}  (safetensors, Parquet)")
    output.text(f"  graph     {folder / 'graph.oxigraph'}  (with metadata and literals)")
    output.text(f"  settings  {folder / 'kgsync.toml'}")
    output.heading("Try next")
    command = "kgsync" if shutil.which("kgsync") else os.path.relpath(sys.argv[0])
    config = f"-c {folder / 'kgsync.toml'}"
    output.text(f"  {command} status {config}")
    output.text(f"  {command} neighbors {config} {BASE}city/Alby")
    output.text(f"  {command} query {config} quality_history")
    output.text(f"  {command} query {config} nearest_neighbors --param iri={BASE}city/Alby")
    output.text(
        f"  {command} predict {config} --tail {BASE}genre/opera --relation {BASE}ontology/knownFor"
    )
    output.data(
        {
            "reports": [report.to_json() for report in reports],
            "neighbors_before": [n.iri for n in first],
            "neighbors_after": [n.iri for n in last],
        }
    )


COMMAND = CommandDeclaration("demo", demo, place=4, panel=Panel.SET_UP)


def build_store(path: Path, versions: int = VERSIONS, people: int = 1500) -> DemoWorld:
    """Write the versions of a world, with their catalogue, into a new Oxigraph directory."""
    import pyoxigraph as ox

    world = DemoWorld(people=people)
    store = ox.Store(str(path))
    for number in range(1, versions + 1):
        if number > 1:
            world.pass_a_year()
        graph = GRAPHS.format(version=number)
        lines = [f"<{s}> <{p}> <{o}> <{graph}> .\n" for s, p, o in world.facts()]
        name = "http://www.w3.org/2000/01/rdf-schema#label"
        lines += [f'<{iri}> <{name}> "{label}" <{graph}> .\n' for iri, label in world.labels()]
        issued = f'"20{number + 20}-01-01"^^<http://www.w3.org/2001/XMLSchema#date>'
        lines.append(f"<{graph}> <http://purl.org/dc/terms/issued> {issued} .\n")
        store.bulk_load("".join(lines).encode(), format=ox.RdfFormat.N_QUADS)
    store.flush()
    return world


def _clear(folder: Path) -> None:
    """Empty the folder, but only if it is new, empty or a demo."""
    ours = (folder / _MARK).exists()
    if folder.exists() and not ours and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder} is not empty and not a demo; choose another folder")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        (folder / _MARK).touch()
    except OSError as error:
        raise ConfigError(f"cannot create the folder {folder}: {error.strerror}") from None


def _short(neighbor: Neighbor, world: DemoWorld) -> str:
    return f"{_local(neighbor.iri)} ({world.describe(neighbor.iri)})"


def _local(iri: str) -> str:
    return iri.removeprefix(BASE)

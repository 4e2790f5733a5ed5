"""`kgsync snapshots`: build the versions of a history and load them into a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsync.cli.output import output
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.common.listener import Listener
    from kgsync.snapshots.facts import Facts
    from kgsync.snapshots.iris import Naming
    from kgsync.snapshots.loading import LoadedVersion
    from kgsync.snapshots.version import BuiltVersion

__all__ = ["app"]

app = typer.Typer(
    help="Build the versions of a history, and load them with their metadata into a store.",
    no_args_is_help=True,
)

Files = Annotated[
    list[Path], typer.Argument(help="Text files, compressed (.gz, .bz2, .zst) or not.")
]
Store = Annotated[
    str, typer.Option(help="Oxigraph directory; created if missing.", show_default=False)
]
Namespace = Annotated[str, typer.Option(help="Prefix of the IRIs in the data.")]
Graphs = Annotated[
    str | None,
    typer.Option(help="Graph IRI with {version}.", show_default="NAMESPACE/version/{version}"),
]
Catalog = Annotated[
    str | None,
    typer.Option(help="Named graph for the metadata.", show_default="the default graph"),
]
Versions = Annotated[int, typer.Option(help="Number of versions to build.")]
Share = Annotated[float, typer.Option(help="Share of the facts in each version.")]
MinDegree = Annotated[int, typer.Option(help="First drop entities and relations in fewer facts.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]

_NAMESPACE = "http://example.org/"


@app.command()
def window(
    files: Files,
    store: Store,
    versions: Versions = 20,
    share: Share = 0.5,
    min_degree: MinDegree = 1,
    namespace: Namespace = _NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Slide a window over timed facts: lines of `head tail time` or `head relation tail time`.

    With three fields, the file name is the relation. Times are seconds since 1970 or ISO dates.
    """
    from kgsync.snapshots.plain import read_timed

    with _loading(store, namespace, graphs, catalog, json) as load:
        load.windows(lambda naming: read_timed(files, naming), versions, share, min_degree)


@app.command()
def nell(
    file: Annotated[Path, typer.Argument(help="NELL's beliefs, `NELL.*.esv.csv`.")],
    store: Store,
    versions: Versions = 20,
    share: Share = 0.5,
    min_degree: MinDegree = 5,
    namespace: Namespace = _NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Slide a window over NELL's beliefs, by their iteration of promotion."""
    from kgsync.snapshots.nell import read_nell

    with _loading(store, namespace, graphs, catalog, json) as load:
        load.windows(lambda naming: read_nell(file, naming), versions, share, min_degree)


@app.command()
def higgs(
    folder: Annotated[Path, typer.Argument(help="Folder with SNAP's Higgs files.")],
    store: Store,
    versions: Versions = 20,
    share: Share = 0.5,
    min_degree: MinDegree = 1,
    namespace: Namespace = _NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Slide a window over the Higgs Twitter data; follow edges get their users' first time."""
    from kgsync.snapshots.higgs import read_higgs

    with _loading(store, namespace, graphs, catalog, json) as load:
        load.windows(lambda naming: read_higgs(folder, naming), versions, share, min_degree)


@app.command()
def synthetic(
    files: Files,
    store: Store,
    versions: Versions = 20,
    elements: Annotated[
        float, typer.Option(help="Share of the entities, and of the relations, in each version.")
    ] = 0.995,
    share: Annotated[float, typer.Option(help="Share of the facts between them.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Same seed, same versions.")] = 0,
    namespace: Namespace = _NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Sample versions of a static graph: lines of `head relation tail`."""
    from kgsync.snapshots.plain import read_static
    from kgsync.snapshots.synthetic import synthetic_versions

    with _loading(store, namespace, graphs, catalog, json) as load:
        facts = read_static(files, load.naming)
        load.load(synthetic_versions(facts, versions, elements, share, seed), versions)


@app.command()
def changing(
    files: Files,
    store: Store,
    change: Annotated[
        str,
        typer.Option(help="Shares of the triples that change, one per version after the first."),
    ] = "0.001,0.005,0.01,0.05",
    added: Annotated[float, typer.Option(help="Share of the changed triples that are added.")] = (
        0.6
    ),
    start: Annotated[float, typer.Option(help="Share of the facts in the first version.")] = 0.94,
    hidden: Annotated[
        float, typer.Option(help="Share of the entities that arrive after the first version.")
    ] = 0.02,
    seed: Annotated[int, typer.Option(help="Same seed, same versions.")] = 0,
    namespace: Namespace = _NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Change a static graph by given shares: lines of `head relation tail`."""
    from kgsync.snapshots.changing import Changing, changing_versions
    from kgsync.snapshots.plain import read_static

    with _loading(store, namespace, graphs, catalog, json) as load:
        how = Changing(_shares(change), added, start=start, hidden=hidden, seed=seed)
        versions = changing_versions(read_static(files, load.naming), how)
        load.load(versions, 1 + len(how.shares))


@app.command()
def changes(
    folder: Annotated[
        Path, typer.Argument(help="Folder with base.nt and changes/NNNN.{added,removed}.nt.")
    ],
    store: Store,
    graphs: Graphs = None,
    namespace: Namespace = _NAMESPACE,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Load a history of N-Triples files: a base, then what each version added and removed."""
    from kgsync.snapshots.changes import ChangeFiles

    with _loading(store, namespace, graphs, catalog, json) as load:
        files = ChangeFiles.find(folder)
        load.load(files.versions(), len(files))


class _Loader:
    """Loads versions into the chosen store and prints them."""

    def __init__(
        self, store: str, naming: Naming, graphs: str, catalog: str | None, listener: Listener
    ) -> None:
        from kgsync.snapshots.loading import Destination, check_target

        self.naming = naming
        self._store = store
        self._destination = Destination(graphs, catalog)
        self._listener = listener
        check_target(store)
        listener.phase("read")

    def windows(
        self, read: Callable[[Naming], Facts], versions: int, share: float, min_degree: int
    ) -> None:
        """Read timed facts, slide the window over them and load each version."""
        from kgsync.snapshots.window import sliding_window

        facts = read(self.naming).with_min_degree(min_degree)
        self.load(sliding_window(facts, versions, share), versions)

    def load(self, versions: Iterator[BuiltVersion], count: int) -> None:
        """Load versions one by one."""
        from kgsync.graph.stores import opened
        from kgsync.snapshots.loading import load_versions

        loaded: list[LoadedVersion] = []
        self._listener.phase("load")
        with opened(self._store, create=True) as store:
            for version in load_versions(store, versions, self._destination):
                loaded.append(version)
                output.committed.append(asdict(version))
                self._listener.progress("load", len(loaded), count)
        self._show(loaded)

    def _show(self, loaded: list[LoadedVersion]) -> None:
        graphs, catalog = self._destination.graphs, self._destination.catalog
        output.data(
            {
                "store": self._store,
                "graphs": graphs,
                "catalog": catalog,
                "versions": [asdict(version) for version in loaded],
            }
        )
        columns = ["version", "issued", "triples", "entities", "relations", "added", "deleted", ""]
        rows = [_row(version, graphs) for version in loaded]
        output.table(columns, rows, spare=["relations", "entities"], shorten=["version", "issued"])
        idle = sum(version.without_effect for version in loaded)
        if idle:
            output.text(f"warning: {idle:,} statements of the change files changed nothing")
        output.text(f"next: kgsync init {self._store} --graphs '{graphs}'")
        if catalog is not None:
            output.text(f"      and catalog = {catalog!r} in kgsync.toml")


@contextmanager
def _loading(
    store: str, namespace: str, graphs: str | None, catalog: str | None, json: bool
) -> Iterator[_Loader]:
    output.json = json
    from kgsync.snapshots.iris import Naming

    naming = Naming(namespace)
    with output.listening() as listener:
        yield _Loader(store, naming, graphs or naming.graphs, catalog, listener)


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(share) for share in text.split(","))
    except ValueError:
        raise ConfigError(f"--change must be numbers separated by commas, not {text!r}") from None


def _row(version: LoadedVersion, graphs: str) -> tuple[str, ...]:
    start, _, end = graphs.partition("{version}")
    counts = (version.triples, version.entities, version.relations)
    return (
        version.graph.removeprefix(start).removesuffix(end),
        version.issued or "",
        *(f"{count:,}" for count in counts),
        f"+{version.added:,}",
        f"-{version.deleted:,}",
        "loaded" if version.loaded else "already there",
    )

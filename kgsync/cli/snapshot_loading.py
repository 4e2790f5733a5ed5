"""What all commands of `kgsync snapshots` share: options, and loading the versions they build."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgsync.cli.output import output

if TYPE_CHECKING:
    from kgsync.common.listener import Listener
    from kgsync.snapshots.facts import Facts
    from kgsync.snapshots.iris import Naming
    from kgsync.snapshots.loading import LoadedVersion
    from kgsync.snapshots.version import BuiltVersion

__all__ = [
    "NAMESPACE",
    "Catalog",
    "Files",
    "Graphs",
    "Loader",
    "MinDegree",
    "Namespace",
    "Share",
    "Store",
    "Versions",
    "loading",
]

NAMESPACE = "http://example.org/"

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


@contextmanager
def loading(
    store: str, namespace: str, graphs: str | None, catalog: str | None, json: bool
) -> Iterator[Loader]:
    """What loads the versions of a command into a store, with its progress shown."""
    output.json = json
    from kgsync.snapshots.iris import Naming

    naming = Naming(namespace)
    with output.listening() as listener:
        yield Loader(store, naming, graphs or naming.graphs, catalog, listener)


class Loader:
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

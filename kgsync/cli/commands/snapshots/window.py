"""`kgsync snapshots window`: versions from timed facts."""

from __future__ import annotations

from kgsync.cli.declaration import CommandDeclaration
from kgsync.cli.options import Json
from kgsync.cli.snapshot_loading import (
    NAMESPACE,
    Catalog,
    Files,
    Graphs,
    MinDegree,
    Namespace,
    Share,
    Store,
    Versions,
    loading,
)

__all__ = ["COMMAND"]


def window(
    files: Files,
    store: Store,
    versions: Versions = 20,
    share: Share = 0.5,
    min_degree: MinDegree = 1,
    namespace: Namespace = NAMESPACE,
    graphs: Graphs = None,
    catalog: Catalog = None,
    json: Json = False,
) -> None:
    """Slide a window over timed facts: lines of `head tail time` or `head relation tail time`.

    With three fields, the file name is the relation. Times are seconds since 1970 or ISO dates.
    """
    from kgsync.snapshots.plain import read_timed

    with loading(store, namespace, graphs, catalog, json) as load:
        load.windows(lambda naming: read_timed(files, naming), versions, share, min_degree)


COMMAND = CommandDeclaration("window", window, place=1)

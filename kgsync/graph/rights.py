"""Whether a store takes updates, found out with one that changes nothing."""

from __future__ import annotations

from kgsync import queries
from kgsync.graph.port import GraphStore

__all__ = ["check_rights"]


def check_rights(store: GraphStore) -> None:
    """Send an update without an effect.

    Raises:
        StoreError: The store refuses it.
    """
    store.update(queries.load("_nothing").bind())

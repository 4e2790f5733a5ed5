"""Check that a store accepts updates, with an update that changes nothing."""

from __future__ import annotations

from kgsync import queries
from kgsync.graph.port import GraphStore

__all__ = ["check_rights"]


def check_rights(store: GraphStore) -> None:
    """Send an update that has no effect.

    Raises:
        StoreError: The store rejects it.
    """
    store.update(queries.load("_nothing").bind())

"""Waiting until a version is at rest: a store that others load into may hold half of one."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kgsync.config import Settings
from kgsync.durations import seconds_of
from kgsync.errors import TransientStoreError
from kgsync.graph.port import GraphStore, TripleSource
from kgsync.graph.versions import GraphVersion, VersionList
from kgsync.state import State, write_file

__all__ = ["await_rest"]


@dataclass(frozen=True)
class _Look:
    """How many triples a graph had, and when."""

    triples: int
    at: float


def await_rest(
    store: GraphStore,
    versions: VersionList,
    ahead: Iterable[GraphVersion],
    settings: Settings,
    state: State,
) -> None:
    """Return when the next version has had the same number of triples for `settle`.

    The first looks at all versions to do are remembered in the state, so that this waits once, and
    not at all in a process that looks again later.

    Raises:
        TransientStoreError: It is still growing.
    """
    settle = seconds_of(settings.source.settle)
    if versions.declared or versions.order == "live" or not store.capabilities.shared or not settle:
        return
    file = state.path / "looks.json"
    known, looks = _load(file), {}
    for version in ahead:
        name = version.name
        looks[name] = known.get(name) or _Look(_count(store, version, settings), time.time())
    first = next(iter(ahead))
    before = looks[first.name]
    # A clock that was set back must not make it wait for long.
    time.sleep(min(settle, max(0.0, before.at + settle - time.time())))
    now = _Look(_count(store, first, settings), time.time())
    if now.triples != before.triples:
        looks[first.name] = now
    with state.writing("the sizes of versions"):
        write_file(file, json.dumps({name: vars(look) for name, look in looks.items()}))
    if now.triples != before.triples:
        raise TransientStoreError(
            f"<{first.name}> is still being loaded: {before.triples:,} triples, then "
            f"{now.triples:,}; it is taken when it has been at rest for {settings.source.settle}"
        )


def _count(store: GraphStore, version: GraphVersion, settings: Settings) -> int:
    return store.count(TripleSource(version.graph, settings.scope_text()))


def _load(file: Path) -> dict[str, _Look]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return {name: _Look(**look) for name, look in data.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}  # they are only looked at once more

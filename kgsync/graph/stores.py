"""Open a store from a path, URL or object: a lazy table of adapters, open to plug-ins."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias, cast

from kgsync import queries
from kgsync.errors import ConfigError
from kgsync.graph.endpoint import Endpoint
from kgsync.graph.files.rdf_files import COMPRESSED, DUMPS, PATCHES, holds_rdf, one_of
from kgsync.graph.port import GraphReader, GraphStore

__all__ = [
    "ADAPTERS",
    "StoreTarget",
    "adapter_class",
    "check_rights",
    "checked_path",
    "is_in_memory",
    "open_store",
    "opened",
    "slug",
    "store_identity",
    "store_label",
    "store_name",
]

StoreTarget: TypeAlias = Any
"""A path, a URL, an `Endpoint`, a `pyoxigraph.Store`, an `rdflib` graph, or a `GraphReader`."""

ADAPTERS: dict[str, str] = {
    "path": "kgsync.adapters.oxigraph.store:OxigraphStore",
    "path of files": "kgsync.adapters.files.store:FilesStore",
    "http": "kgsync.adapters.sparql.store:SparqlStore",
    "https": "kgsync.adapters.sparql.store:SparqlStore",
    "pyoxigraph.Store": "kgsync.adapters.oxigraph.store:OxigraphStore",
    "rdflib.Dataset": "kgsync.adapters.rdflib_dataset:RdflibStore",
    "rdflib.Graph": "kgsync.adapters.rdflib_dataset:RdflibStore",
}
"""Scheme of a URL, kind of path, or type of an object -> `module:Class`, imported when needed."""

_CREDENTIALS = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/?#]*@", re.IGNORECASE)
_SUFFIX = re.compile(
    rf"(\.oxigraph|\.ox|\.db|({one_of(DUMPS + PATCHES)})({one_of(COMPRESSED)})?)$", re.IGNORECASE
)
_LONGEST_NAME = 120
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)


def open_store(
    target: StoreTarget, *, create: bool = False, workspace: Path | None = None
) -> GraphStore:
    """Open a store.

    Args:
        target: What `StoreTarget` names.
        create: Create a missing on-disk store instead of raising an error.
        workspace: Folder where an adapter may cache what it detected.

    Raises:
        ConfigError: No adapter can open such a target.
        StoreError: The store is missing, locked or unreachable.
    """
    if isinstance(target, GraphReader):
        return cast("GraphStore", target)
    adapter = adapter_class(_adapter_key(target))
    return cast("GraphStore", adapter.open(target, create=create, workspace=workspace))


def adapter_class(kind: str) -> Any:
    """The adapter for a kind of store, imported when it is first asked for.

    Raises:
        ConfigError: There is none.
    """
    reference = _registered().get(kind)
    if reference is None:
        known = ", ".join(sorted(_registered()))
        raise ConfigError(f"no adapter for {kind!r}; known kinds of store: {known}")
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


@contextmanager
def opened(
    target: StoreTarget, *, create: bool = False, workspace: Path | None = None
) -> Iterator[GraphStore]:
    """A store held open for a while: an embedded one admits a single process at a time."""
    store = open_store(target, create=create, workspace=workspace)
    try:
        yield store
    finally:
        if store is not target:
            store.close()


def check_rights(store: GraphStore) -> None:
    """Check that a store accepts updates, with one that changes nothing.

    Raises:
        StoreError: The store rejects it.
    """
    store.update(queries.load("_nothing").bind())


def store_label(target: StoreTarget) -> str:
    """How to name a store in reports, without credentials.

    Raises:
        ConfigError: It is a path that no file can have.
    """
    return "in memory" if is_in_memory(target) else _CREDENTIALS.sub(r"\1", checked_path(target))


def checked_path(path: StoreTarget) -> str:
    """A path or URL as text.

    Raises:
        ConfigError: It contains a NUL character.
    """
    text = str(path)
    if "\0" in text:
        raise ConfigError(f"the path {text!r} contains a NUL character; check where it comes from")
    return text


def store_identity(target: StoreTarget, state: Path) -> str | None:
    """What tells one store from another; a path relative to the state, so both can be moved."""
    if is_in_memory(target):
        return None
    label = store_label(target)
    if _SCHEME.match(label):
        return label
    return os.path.relpath(os.path.realpath(label), os.path.realpath(checked_path(state)))


def is_in_memory(target: StoreTarget) -> bool:
    """Whether the target is an object of this process, which no path or URL names."""
    return not isinstance(target, str | os.PathLike | Endpoint)


def store_name(target: StoreTarget, graphs: str | None = None) -> str:
    """A short name for a store, used for the default state directory and metadata graph.

    An endpoint holds many graphs, so there it also tells which.
    """
    if is_in_memory(target):
        raise ConfigError("an in-memory store needs an explicit state directory: pass state=...")
    text = store_label(target)
    if _SCHEME.match(text):
        which = _SCHEME.sub("", graphs) if graphs else ""
        return slug(f"{_SCHEME.sub('', text)} {which}")[:_LONGEST_NAME] or "graph"
    text = Path(text).resolve().name
    return slug(_SUFFIX.sub("", text)) or "graph"


def slug(text: str) -> str:
    """A name that can stand in paths and IRIs."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower()


def _adapter_key(target: StoreTarget) -> str:
    if not is_in_memory(target):
        scheme = _SCHEME.match(checked_path(target))
        if scheme:
            return scheme.group(1).lower()
        return "path of files" if holds_rdf(Path(target)) else "path"
    for cls in type(target).__mro__:
        key = f"{cls.__module__.partition('.')[0]}.{cls.__name__}"
        if key in _registered():
            return key
    return f"{type(target).__module__.partition('.')[0]}.{type(target).__name__}"


def _registered() -> dict[str, str]:
    return {**_plugins(tuple(sys.path)), **ADAPTERS}


@cache  # it reads a file of every distribution that is installed
def _plugins(_path: tuple[str, ...]) -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group="kgsync.adapters")}

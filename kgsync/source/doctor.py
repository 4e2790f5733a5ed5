"""Checks of a store: its type and features, how it would be read, and what to fix."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from kgsync.common.wording import counted
from kgsync.errors import KgsyncError, StoreError, TransientStoreError, VersionError
from kgsync.graph.port import ChangeReader, GraphStore, StampedReader, TripleSource
from kgsync.graph.stores import StoreTarget, check_rights, opened
from kgsync.graph.versions import VersionList
from kgsync.source.naming_scope import naming_scope
from kgsync.source.reading import versions_of
from kgsync.source.rewritten import stamps_of
from kgsync.source.settings import ReadingSettings

__all__ = ["Examined", "Finding", "examine"]


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    what: str
    result: Literal["ok", "note", "problem"]
    found: str
    remedy: str = ""
    passing: bool = False
    """Whether a problem may be gone later: the store is busy, locked or unreachable."""


@runtime_checkable
class Examined(Protocol):
    """A store that knows more about itself than the port asks for."""

    def describe(self) -> str:
        """What kind of store it is."""

    def find_limit(self, source: TripleSource) -> int | None:
        """Maximum rows of an answer, tested with a graph; None if no limit was found."""


def examine(
    target: StoreTarget, settings: ReadingSettings, workspace: Path | None
) -> list[Finding]:
    """Check a store as a step would use it, without a step."""
    findings: list[Finding] = []
    try:
        started = time.monotonic()
        with opened(target, workspace=workspace) as store:
            kind = store.describe() if isinstance(store, Examined) else _kind(store)
            seconds = time.monotonic() - started
            findings.append(
                Finding("store", "ok", f"{store.label}: {kind}, opened in {seconds:.2f} s")
            )
            findings += _of_versions(store, settings)
            findings += _of_rights(store)
    except KgsyncError as error:
        findings.append(_problem("store", error))
    return findings


def _of_versions(store: GraphStore, settings: ReadingSettings) -> Iterator[Finding]:
    try:
        versions = versions_of(store, settings)
    except KgsyncError as error:
        remedy = "set `graphs`, or load a version" if isinstance(error, VersionError) else ""
        yield replace(_problem("versions", error), remedy=remedy or _remedy(error))
        return
    names = [version.name for version in versions.versions]
    if versions.order == "live":
        yield Finding("versions", "ok", "one live graph, compared with its last state")
    else:
        shown = ", ".join(names if len(names) <= 3 else [names[0], "…", names[-1]])
        numbered = versions.order == "chain" and _is_folder(store, versions)
        order = "the numbers in their names" if numbered else _ORDERS[versions.order]
        found = f"{len(names):,} in the order of {order}: {shown}"
        yield Finding("versions", "ok", found)
    if versions.pending:
        found = f"{len(versions.pending):,} not complete yet: {versions.pending[0]}"
        yield Finding(
            "pending", "note", found, "kgsync takes them once the catalogue marks them complete"
        )
    yield from _of_readiness(store, versions, settings)
    yield from _of_reading(store, versions, settings)


def _of_readiness(
    store: GraphStore, versions: VersionList, settings: ReadingSettings
) -> Iterator[Finding]:
    if versions.order == "live" or not store.capabilities.shared:
        return
    if versions.declared:
        yield Finding("readiness", "ok", "the catalogue says which versions are complete")
        return
    yield Finding(
        "readiness",
        "note",
        "versions are not marked complete: one is taken after "
        f"{settings.source.quiet_period} without a change in size",
        "give the graphs dcterms:issued in the catalogue once they are loaded, or set `ready`",
    )


def _of_reading(
    store: GraphStore, versions: VersionList, settings: ReadingSettings
) -> Iterator[Finding]:
    source = TripleSource(versions.versions[-1].graph, settings.scope_text())
    try:
        started = time.monotonic()
        with naming_scope(settings):
            count = store.count(source)
        seconds = time.monotonic() - started
        yield Finding(
            "size", "ok", f"{counted(count, 'triple')} in the newest, counted in {seconds:.2f} s"
        )
        if isinstance(store, Examined):
            limit = store.find_limit(source)
            way = "in one answer" if limit is None or count <= limit else "in parts, each counted"
            rows = "no limit seen" if limit is None else f"at most {limit:,} rows per answer"
            yield Finding("extraction", "ok", f"{rows}; the graph is read {way}")
    except KgsyncError as error:
        yield _problem("reading", error)
        return
    able, names = store.capabilities, versions.versions
    if versions.order == "live":
        whole = "by reading all of it"
        found = f"by hash buckets or {whole}" if able.buckets else whole
    elif isinstance(store, ChangeReader) and able.changes and len(names) > 1:
        before = TripleSource(names[-2].graph, source.scope)
        recorded = store.has_changes(source, before)
        found = "from recorded changes" if recorded else "by reading all of it"
    else:
        found = "by the store (MINUS)" if able.difference else "by reading all of it"
    yield Finding("changes", "ok", f"found {found}")


def _of_rights(store: GraphStore) -> Iterator[Finding]:
    if not store.capabilities.writable:
        elsewhere = "to write it into a store, set publish.target"
        if isinstance(store, Examined):
            why = "not possible or not configured"
            elsewhere = "set `update_url` (and `auth`), or publish.target for another store"
        else:
            why = "files are only read" if isinstance(store, StampedReader) else "not possible"
        yield Finding("writing", "note", f"{why}: metadata is kept in the state", elsewhere)
        return
    try:
        check_rights(store)
        yield Finding("writing", "ok", "updates are allowed: metadata goes into the store")
    except KgsyncError as error:
        yield _problem("writing", error)


def _kind(store: GraphStore) -> str:
    return "RDF files" if isinstance(store, StampedReader) else "embedded"


def _is_folder(store: GraphStore, versions: VersionList) -> bool:
    """Whether every version is made of files, so that no catalogue orders them."""
    return bool(stamps_of(store, TripleSource(versions.versions[-1].graph)))


_ORDERS = {
    "chain": "dcat:previousVersion or prov:wasRevisionOf",
    "issued": "dcterms:issued",
    "name": "their names",
}


def _problem(what: str, error: KgsyncError) -> Finding:
    passing = isinstance(error, TransientStoreError)
    return Finding(what, "problem", str(error), _remedy(error), passing)


def _remedy(error: KgsyncError) -> str:
    return error.remedy if isinstance(error, StoreError) else ""

"""Whether the files of the committed version have changed since they were read.

If they have, recorded changes no longer apply to what was read, so the next version is read
completely. A file that was only copied or touched counts as changed; that costs one full scan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kgsync.graph.port import GraphReader, StampedReader, TripleSource
from kgsync.source.notes import CommittedBase, Notes

__all__ = ["CommittedFiles", "remember_files", "stamps_of"]

_FILE = "files.json"
_NAMED = 3
"""Maximum files named in a warning."""


def stamps_of(store: GraphReader, source: TripleSource) -> dict[str, str]:
    """What changes when a file of a version is rewritten; nothing where there are no files."""
    return store.stamps(source) if isinstance(store, StampedReader) else {}


def remember_files(stamps: Mapping[str, str], number: int, notes: Notes) -> None:
    """Note the files of version `number`; only called while the state is locked."""
    if stamps:
        notes.remember(_FILE, {"version": number, "stamps": dict(stamps)})


@dataclass(frozen=True)
class CommittedFiles:
    """Which files of the committed version have changed."""

    changed: tuple[str, ...] = ()
    """Those that were rewritten, added or removed since they were read."""
    reason: str = ""
    """Why the next version is not read as changes of the committed one; empty if it may be."""

    @classmethod
    def look(
        cls, store: GraphReader, current: CommittedBase | None, notes: Notes
    ) -> CommittedFiles:
        """Compare them with what was remembered; the store no longer builds on what has changed."""
        if current is None or not isinstance(store, StampedReader):
            return cls()
        known = _recalled(notes)
        base = TripleSource(current.graph_version.graph)
        now = store.stamps(base)
        if known is None or not now:
            return cls()  # a version may be removed once it was taken
        version, stamps = known
        if version != current.number:
            store.distrust(base)
            return cls((), "it is not known whether the committed version's files have changed")
        names = sorted(stamps.keys() | now.keys())
        changed = tuple(name for name in names if stamps.get(name) != now.get(name))
        if not changed:
            return cls()
        store.distrust(base)
        return cls(changed, f"files of the committed version have changed: {_named(changed)}")

    def warnings(self, *, taken: bool) -> tuple[str, ...]:
        """What to tell, if a new version was taken or if there was none."""
        if not self.changed:
            return ()
        then = (
            "so this version was read completely"
            if taken
            else "the next version includes the change; `kgsync rebuild` takes it now"
        )
        return (f"{_named(self.changed)}: changed since the version was committed; {then}",)


def _recalled(notes: Notes) -> tuple[int, dict[str, str]] | None:
    try:
        kept = notes.recall(_FILE)
        return int(kept["version"]), dict(kept["stamps"])
    except (ValueError, KeyError, TypeError):
        return None  # the state was written by an earlier kgsync


def _named(files: tuple[str, ...]) -> str:
    more = f" and {len(files) - _NAMED:,} more" if len(files) > _NAMED else ""
    return ", ".join(files[:_NAMED]) + more

"""What this process still has in memory of the version that it committed last.

A step needs the version before it: its edges and term ids, its vectors, and what was learned of
them. The process that has just written them need not read them again. Whatever was changed on disk
meanwhile, by another process or by a rollback, is noticed by its size, its time or its place: then
all is read, and verified, as in a process that has just begun.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from kgsync.common.durable import digest_of
from kgsync.graph.reading import Reading
from kgsync.state.version_folder import VersionFolder

if TYPE_CHECKING:
    from kgsync.state.committed import GraphData

__all__ = ["Contents", "Recent"]

_Stamps = dict[str, tuple[int, int, int]]


@dataclass(frozen=True)
class Contents:
    """The contents of a version, as they were written; nobody changes them."""

    graph: GraphData
    tables: Mapping[str, NDArray[Any]]
    kept: Mapping[str, NDArray[Any]]
    reading: Reading
    """What it was made from."""


class Recent:
    """The contents of one version: the last one that this process has committed."""

    def __init__(self) -> None:
        """Nothing was committed yet."""
        self._known: tuple[str, _Stamps, Contents] | None = None

    def keep(self, folder: VersionFolder, contents: Contents) -> None:
        """Keep the contents of a version in place of those of the one before.

        Args:
            folder: Where it was written.
            contents: What was written.
        """
        stamps = _stamps(folder)
        self._known = None if stamps is None else (_digest(folder), stamps, contents)

    def forget(self) -> None:
        """Keep nothing."""
        self._known = None

    def of(self, folder: VersionFolder) -> Contents | None:
        """The contents of a version, if they are here and its files are as they were written."""
        if self._known is None:
            return None
        known, stamps, contents = self._known
        return contents if known == _digest(folder) and stamps == _stamps(folder) else None


def _digest(folder: VersionFolder) -> str:
    """Of the manifest, which has the checksums of all files."""
    return digest_of(vars(folder.manifest))


def _stamps(folder: VersionFolder) -> _Stamps | None:
    """What changes when a file is written or replaced; None if one is missing."""
    try:
        found = {name: (folder.path / name).stat() for name in folder.manifest.files}
    except OSError:
        return None
    return {name: (stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in found.items()}

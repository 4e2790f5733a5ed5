"""Which files of a folder make which version of its graph; none of them is read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

from kgsync.adapters.files_patch import check_chain, read_header
from kgsync.errors import PermanentStoreError
from kgsync.graph.rdf_files import CHANGE, DUMPS, PATCHES, bare_name
from kgsync.graph.version_table import issued, read_version_table
from kgsync.graph.versions import natural_key

__all__ = ["Change", "FileVersion", "Layout", "find_layout"]

_HEAD = "lastPublishedFile.txt"
_ORDER = ("clear", "removed", "added", "reinserted")
_HOUR = re.compile(r"\d{4}/\d{2}/\d{2}/\d{2}")
_Number = tuple[str, int]
"""The folder of an hour (empty if there are none), and the number in it."""


@dataclass(frozen=True)
class Change:
    """What leads from one version to the next."""

    name: str
    parts: dict[str, Path]
    """Files by what they do, in the order in which they are applied; or one `patch`."""


@dataclass(frozen=True)
class FileVersion:
    """One version of a folder's graph."""

    graph: str
    dump: Path | None
    """What it begins with; None is the empty graph."""
    changes: int = 0
    """How many of the folder's changes are in it."""
    issued: str | None = None


@dataclass(frozen=True)
class Layout:
    """The versions of a folder, oldest first."""

    versions: dict[str, FileVersion]
    """By their graphs."""
    ordered: bool
    """Whether their order is clear; if not, `graphs` has to say which files are versions."""
    changes: tuple[Change, ...] = ()

    def between(self, base: FileVersion | None, version: FileVersion) -> tuple[Change, ...]:
        """The changes that lead from one version, or from its dump, to another."""
        return self.changes[base.changes if base else 0 : version.changes]


def find_layout(folder: Path) -> Layout:
    """The versions in a folder.

    Raises:
        PermanentStoreError: A change is missing, a chain is broken, or names are ambiguous.
    """
    root = folder / "changes" if (folder / "changes").is_dir() else folder
    dumps = _by_name(
        path
        for path in folder.iterdir()
        if bare_name(path).suffix in DUMPS and not CHANGE.fullmatch(path.name)
    )
    numbered = _numbered(root, _head(folder, root))
    patches = _by_name(p for p in root.iterdir() if bare_name(p).suffix in PATCHES)
    if numbered and patches:
        raise PermanentStoreError(f"{root} holds both change files and patches; keep one kind")
    if not numbered and not patches:
        return _of_dumps(dumps)
    if numbered:
        _check_gaps(root, list(numbered))
        changes = tuple(
            Change(_relative(folder, root / hour / _name(parts)), parts)
            for (hour, _), parts in numbered.items()
        )
    else:
        changes = tuple(
            Change(_relative(folder, root / name), {"patch": path})
            for name, path in patches.items()
        )
        _check_patches(root, patches)
    return _of_changes(folder, _base(folder, dumps), changes)


def _of_dumps(dumps: dict[str, Path]) -> Layout:
    versions = [FileVersion(_iri(name), path) for name, path in dumps.items()]
    # Files that differ in more than numbers may not be versions of one graph.
    alike = len({re.sub(r"\d+", "0", name) for name in dumps}) == 1
    return Layout({version.graph: version for version in versions}, alike)


def _of_changes(folder: Path, base: Path | None, changes: tuple[Change, ...]) -> Layout:
    rows = read_version_table(folder)
    names = [bare_name(base).name if base else "", *(change.name for change in changes)]
    versions = [
        FileVersion(_iri(name), base, number, issued(number, rows.get(number, {})))
        for number, name in enumerate(names)
        if name
    ]
    return Layout({version.graph: version for version in versions}, True, changes)


def _base(folder: Path, dumps: dict[str, Path]) -> Path | None:
    bases = [path for name, path in dumps.items() if name.startswith("base.")]
    if len(bases) > 1 or len(dumps) > len(bases):
        names = ", ".join(dumps)
        raise PermanentStoreError(
            f"{folder} holds changes, and it is not clear what they start from: {names}; "
            "name that file base.nt (or .nq, .ttl, .trig) and move others away"
        )
    return bases[0] if bases else None


def _numbered(root: Path, head: _Number | None) -> dict[_Number, dict[str, Path]]:
    """The files of every published change, in order."""
    found: dict[_Number, dict[str, Path]] = {}
    for path in [*root.glob("*.nt*"), *root.glob("[0-9]*/[0-9]*/[0-9]*/[0-9]*/*.nt*")]:
        match = CHANGE.fullmatch(path.name)
        hour = path.parent.relative_to(root).as_posix().removeprefix(".")
        if match is None or (hour and not _HOUR.fullmatch(hour)):
            continue
        number = (hour, int(match[1]))
        if head is not None and number > head:
            continue
        parts = found.setdefault(number, {})
        if match[2] in parts:
            raise PermanentStoreError(f"{parts[match[2]]} and {path.name} are the same change")
        parts[match[2]] = path
    return {
        number: {kind: found[number][kind] for kind in _ORDER if kind in found[number]}
        for number in sorted(found)
    }


def _head(folder: Path, root: Path) -> _Number | None:
    """The last change that is published: a file after it may be half written."""
    path = next((place / _HEAD for place in (folder, root) if (place / _HEAD).is_file()), None)
    if path is None:
        return None
    text = path.read_text("utf-8", "replace").strip()
    match = re.fullmatch(r"(?:(\d{4})[-/](\d{2})[-/](\d{2})[-/](\d{2})[-/])?(\d+)", text)
    if match is None:
        raise PermanentStoreError(f"{path}: not the number of a change: {text[:60]!r}")
    return ("/".join(match.groups()[:4]) if match[1] else "", int(match[5]))


def _check_gaps(root: Path, numbers: list[_Number]) -> None:
    """Numbers start anew in every hour; only the first hour may have begun before the base."""
    expected = {number[0]: 0 for number in numbers}
    first_hour, first = numbers[0]
    expected[first_hour] = first if first_hour or first == 0 else 1
    for hour, number in numbers:
        if number != expected[hour]:
            raise PermanentStoreError(
                f"change {expected[hour]:0{6 if hour else 4}} is missing in {root / hour}, "
                f"although there is {number}; fetch it, or start anew from a newer base"
            )
        expected[hour] = number + 1


def _check_patches(root: Path, patches: dict[str, Path]) -> None:
    check_chain([read_header(path) for path in patches.values()])
    stems = [name.partition(".")[0] for name in patches]
    if all(stem.isdecimal() for stem in stems):
        for before, stem in pairwise(stems):
            if int(stem) != int(before) + 1:
                raise PermanentStoreError(
                    f"patch {int(before) + 1:0{len(stem)}} is missing in {root}, although there "
                    f"is {stem}"
                )


def _by_name(paths: Iterable[Path]) -> dict[str, Path]:
    """Files by their names without compression, in natural order."""
    found: dict[str, Path] = {}
    for path in sorted(paths, key=lambda path: natural_key(path.name)):
        name = bare_name(path).name
        if name in found:
            raise PermanentStoreError(f"{found[name]} and {path.name} are the same file twice")
        if path.is_file() and not name.startswith("."):
            found[name] = path
    return dict(sorted(found.items(), key=lambda item: natural_key(item[0])))


def _name(parts: dict[str, Path]) -> str:
    """The number of a change as its files have it."""
    return next(iter(parts.values())).name.partition(".")[0]


def _relative(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _iri(name: str) -> str:
    """An IRI that stays when the folder is moved or a file is compressed."""
    return "file:" + quote(name)

"""Which files of a folder make up which version of its graph. Only names are read, not contents.

No file that may hold triples is ignored: an unrecognized name is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

from kgsync.adapters.files.hours import check_hours, hours_of
from kgsync.adapters.files.patch import check_chain, read_header
from kgsync.errors import PermanentStoreError
from kgsync.graph.files.rdf_files import (
    CHANGE,
    DUMPS,
    PATCHES,
    bare_name,
    not_understood,
    rdf_suffix,
    strange_files,
)
from kgsync.graph.files.versions_tsv import issued, read_version_table
from kgsync.graph.versions import natural_key

__all__ = ["Change", "FileVersion", "Layout", "find_layout"]

_HEAD = "lastPublishedFile.txt"
_ORDER = ("clear", "removed", "added", "reinserted")
_LIKE_CHANGE = re.compile(r"\d+\.[a-z]+\.", re.IGNORECASE)
_Number = tuple[str, int]
"""The folder of an hour (empty if there are none), and the number in it."""


@dataclass(frozen=True)
class Change:
    """The change from one version to the next."""

    name: str
    parts: dict[str, Path]
    """Files by what they do, in the order in which they are applied; or one `patch`."""


@dataclass(frozen=True)
class FileVersion:
    """One version of a folder's graph."""

    graph: str
    dump: Path | None
    """The dump it starts from; None for the empty graph."""
    changes: int = 0
    """How many of the folder's changes are applied to it."""
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
    files = {place: sorted(place.iterdir()) for place in (folder, root)}
    dumps = _by_name(p for p in files[folder] if _is_dump(p))
    patches = _by_name(p for p in files[root] if rdf_suffix(p) in PATCHES)
    hours = {"": root, **hours_of(root)}
    numbered = _numbered(hours, _head(folder, root))
    _check_names(folder, root, files, bool(numbered or patches))
    if numbered and patches:
        raise PermanentStoreError(f"{root} holds both change files and patches; keep one kind")
    if not numbered and not patches:
        return _of_dumps(dumps)
    if numbered:
        _check_gaps(root, list(numbered))
        check_hours(root, [h for h in hours if h], [h for h, _ in numbered if h])
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


def _is_dump(path: Path) -> bool:
    return rdf_suffix(path) in DUMPS and not CHANGE.fullmatch(path.name)


def _check_names(folder: Path, root: Path, files: dict[Path, list[Path]], changes: bool) -> None:
    """Check that no file is ignored that may be part of the graph."""
    for path in files[folder]:
        misplaced = root != folder and (
            bool(CHANGE.fullmatch(path.name))
            or rdf_suffix(path) in PATCHES
            or (path.is_dir() and path.name.isdecimal())
        )
        if misplaced and not path.name.startswith("."):
            raise PermanentStoreError(f"{path} holds changes, but is not in {root}; move it there")
        if path.is_dir() and path.name != "changes" and path.name.lower() == "changes":
            raise PermanentStoreError(
                f"{path} may hold changes; name it `changes`, or move it away"
            )
    among = changes or root != folder
    for place, paths in files.items():
        known = [p for p in paths if CHANGE.fullmatch(p.name) or rdf_suffix(p) in PATCHES]
        if place == folder:
            # Among changes, a file with a number is not a dump: `0001.deleted.nt`.
            known += [p for p in paths if _is_dump(p) and not (among and _is_like_change(p))]
        for path in strange_files(paths, known, numbered=place == root and among):
            raise PermanentStoreError(not_understood(path))


def _is_like_change(path: Path) -> bool:
    return bool(_LIKE_CHANGE.match(path.name))


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
    bases = [path for name, path in dumps.items() if name.lower().startswith("base.")]
    if len(bases) > 1 or len(dumps) > len(bases):
        names = ", ".join(dumps)
        raise PermanentStoreError(
            f"{folder} holds changes, but their base file is not clear: {names}; "
            f"name that file base.nt (or {', '.join(DUMPS[1:])}) and move others away"
        )
    return bases[0] if bases else None


def _numbered(hours: dict[str, Path], head: _Number | None) -> dict[_Number, dict[str, Path]]:
    """The files of every published change, in order."""
    found: dict[_Number, dict[str, Path]] = {}
    for hour, place in hours.items():
        for path in sorted(place.iterdir()):
            match = CHANGE.fullmatch(path.name)
            if match is None or (head is not None and (hour, int(match[1])) > head):
                continue
            parts = found.setdefault((hour, int(match[1])), {})
            kind = match[2].lower()
            if kind in parts:
                raise PermanentStoreError(
                    f"{parts[kind]} and {path.name} are two files for the same change"
                )
            parts[kind] = path
    return {
        number: {kind: found[number][kind] for kind in _ORDER if kind in found[number]}
        for number in sorted(found)
    }


def _head(folder: Path, root: Path) -> _Number | None:
    """The last published change: a later file may be incomplete."""
    path = next((place / _HEAD for place in (folder, root) if (place / _HEAD).is_file()), None)
    if path is None:
        return None
    text = path.read_text("utf-8", "replace").strip()
    match = re.fullmatch(r"(?:(\d{4})[-/](\d{2})[-/](\d{2})[-/](\d{2})[-/])?(\d+)", text)
    if match is None:
        raise PermanentStoreError(f"{path}: not a change number: {text[:60]!r}")
    return ("/".join(match.groups()[:4]) if match[1] else "", int(match[5]))


def _check_gaps(root: Path, numbers: list[_Number]) -> None:
    """Numbers restart in every hour; only the first hour may have begun before the base."""
    expected = {number[0]: 0 for number in numbers}
    first_hour, first = numbers[0]
    expected[first_hour] = first if first_hour or first == 0 else 1
    for hour, number in numbers:
        if number != expected[hour]:
            raise PermanentStoreError(
                f"change {expected[hour]:0{6 if hour else 4}} is missing in {root / hour}, "
                f"but {number} is there; fetch it, or start again from a newer base"
            )
        expected[hour] = number + 1


def _check_patches(root: Path, patches: dict[str, Path]) -> None:
    check_chain([read_header(path) for path in patches.values()])
    stems = [name.partition(".")[0] for name in patches]
    if all(stem.isdecimal() for stem in stems):
        for before, stem in pairwise(stems):
            if int(stem) != int(before) + 1:
                raise PermanentStoreError(
                    f"patch {int(before) + 1:0{len(stem)}} is missing in {root}, but "
                    f"{stem} is there"
                )


def _by_name(paths: Iterable[Path]) -> dict[str, Path]:
    """Files by their names without compression, in natural order."""
    found: dict[str, Path] = {}
    for path in sorted(paths, key=lambda path: natural_key(path.name)):
        name = bare_name(path).name
        if name in found:
            raise PermanentStoreError(
                f"{found[name]} and {path.name} are two copies of the same file"
            )
        if not path.is_dir() and not name.startswith("."):
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

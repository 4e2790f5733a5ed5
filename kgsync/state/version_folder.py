"""The folder of one committed version: its manifest, and its files, checked before use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgsync.common.durable import digest_of, read_json, sha256_of, write_file
from kgsync.errors import StateCorruptedError
from kgsync.state.manifest import Manifest
from kgsync.state.small_files import Pointer

__all__ = ["UNCOMMITTED", "VersionFolder", "remedy", "write_manifest"]

UNCOMMITTED = "uncommitted"
"""A file that is in the folder until CURRENT has named the version."""
_RESTORE = "restore the state from a backup, or run `kgsync rebuild`"


@dataclass(frozen=True)
class VersionFolder:
    """One committed version on disk."""

    path: Path
    manifest: Manifest

    @classmethod
    def read(cls, path: Path) -> VersionFolder:
        """The version in a folder.

        Raises:
            StateCorruptedError: Its manifest cannot be read, or does not match its checksum.
        """
        file = path / "manifest.json"
        found = _manifest(file)
        if isinstance(found, str):
            raise StateCorruptedError(f"{found}; {remedy(path)}")
        return cls(path, found)

    @property
    def retained(self) -> bool:
        """Whether the files are still there."""
        return all((self.path / name).is_file() for name in self.manifest.files)

    def verified(self, name: str) -> Path:
        """The path of one file, after its checksum was compared.

        Raises:
            StateCorruptedError: The file is gone or is not what was committed.
        """
        path = self.path / name
        try:
            found = sha256_of(path)
        except OSError as error:
            raise StateCorruptedError(
                f"version {self.manifest.version} has no usable {path}: {error.strerror}; "
                f"{remedy(self.path)}"
            ) from error
        if found != self.manifest.files[name]["sha256"]:
            raise StateCorruptedError(f"{path} does not match its checksum; {remedy(self.path)}")
        return path

    def wrong_files(self) -> list[str]:
        """What is wrong with files that are missing or have another size; nothing is hashed."""
        found = []
        for name, about in self.manifest.files.items():
            path = self.path / name
            try:
                size = path.stat().st_size
            except OSError as error:
                found.append(f"{path}: {error.strerror}")
                continue
            if size != about["bytes"]:
                found.append(f"{path}: {size:,} bytes instead of {about['bytes']:,}")
        return found


def remedy(folder: Path) -> str:
    """What to do about a damaged version: to go back, if it is current and an older one is whole.

    Args:
        folder: The folder of the version.
    """
    state = folder.parent
    try:
        if Pointer.read(state / "CURRENT").version != int(folder.name):
            return "restore it from a backup, or use another version"
    except (OSError, ValueError):
        return _RESTORE
    older = [path for path in state.glob("[0-9]*") if _is_number(path) and path < folder]
    for path in sorted(older, key=lambda each: int(each.name), reverse=True):
        manifest = _manifest(path / "manifest.json")
        if (
            isinstance(manifest, Manifest)
            and not (path / UNCOMMITTED).exists()
            and not VersionFolder(path, manifest).wrong_files()
        ):
            return f"run `kgsync rollback {int(path.name)}`, or {_RESTORE}"
    return _RESTORE


def _is_number(path: Path) -> bool:
    return path.name.isdecimal() and path.is_dir()


def _manifest(file: Path) -> Manifest | str:
    """The manifest in a file, or what is wrong with it."""
    try:
        data = read_json(file, "")
    except StateCorruptedError as error:
        return str(error).rstrip("; ")
    body: dict[str, Any] = data.get("manifest") or {}
    if data.get("sha256") != digest_of(body):
        return f"{file} does not match its checksum"
    return Manifest(**body)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a version, with a checksum.

    Raises:
        OSError: Writing to disk failed.
    """
    body = vars(manifest)
    text = json.dumps({"sha256": digest_of(body), "manifest": body}, indent=1)
    write_file(folder / "manifest.json", text)

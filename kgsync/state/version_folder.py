"""The folder of one committed version: its manifest, and its files, checked before use."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgsync.common.durable import digest_of, read_json, sha256_of, write_file
from kgsync.errors import StateCorruptedError
from kgsync.state.manifest import Manifest

__all__ = ["VersionFolder", "write_manifest"]

_REMEDY = "restore the state from a backup or run `kgsync rebuild`"


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
        data = read_json(file, _REMEDY)
        body: dict[str, Any] = data.get("manifest") or {}
        if data.get("sha256") != digest_of(body):
            raise StateCorruptedError(f"{file} does not match its checksum; {_REMEDY}")
        return cls(path, Manifest(**body))

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
                f"version {self.manifest.version} has no usable {path}: {error.strerror}; restore "
                "the state from a backup or run `kgsync rebuild`"
            ) from error
        if found != self.manifest.files[name]["sha256"]:
            raise StateCorruptedError(
                f"{path} does not match its checksum; restore the state from a backup "
                "or run `kgsync rebuild`"
            )
        return path


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest of a version, with a checksum.

    Raises:
        OSError: Writing to disk failed.
    """
    body = vars(manifest)
    text = json.dumps({"sha256": digest_of(body), "manifest": body}, indent=1)
    write_file(folder / "manifest.json", text)

"""Finding the sidecar files of a version from any path that leads to them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgsync.common.durable import digest_of, read_json, recorded
from kgsync.errors import StateCorruptedError, StateError
from kgsync.state.sidecar import DESCRIPTION, FOLDER, FORMAT, TENSORS, sidecar_files

__all__ = ["Description", "find_sidecar"]

_REMEDY = "copy the folder again or restore it from a backup"


@dataclass(frozen=True)
class Description:
    """The description of the files of a version."""

    version: int
    previous: int | None
    graph_version: str
    created: str
    model: dict[str, Any]
    files: dict[str, dict[str, Any]]
    """Name -> sha256, bytes."""

    @classmethod
    def read(cls, path: Path) -> Description:
        """What a sidecar.json or a current.json says.

        Raises:
            StateCorruptedError: It is not what kgsync wrote.
            StateError: It is of another format.
        """
        return cls.checked(read_json(path, _REMEDY), path)

    @classmethod
    def checked(cls, content: dict[str, Any], path: Path) -> Description:
        """The same for what was read already."""
        if content.get("format") != FORMAT:
            raise StateError(
                f"{path} has format {content.get('format')}, this kgsync reads {FORMAT}; use the "
                "kgsync that wrote it"
            )
        rest = {name: value for name, value in content.items() if name != "sha256"}
        if content.get("sha256") != digest_of(rest):
            raise StateCorruptedError(f"{path} does not match its own checksum; {_REMEDY}")
        return cls._of(content, path)

    @classmethod
    def of_manifest(cls, path: Path) -> Description:
        """The same from the manifest of an older version, which has no sidecar.json.

        Raises:
            StateCorruptedError: It is not what kgsync wrote.
        """
        try:
            content = read_json(path, _REMEDY)
            manifest = content["manifest"]
            files = sidecar_files(manifest["files"])
            name = manifest["graph_version"]["name"]
        except (KeyError, TypeError, AttributeError) as error:
            raise StateCorruptedError(f"{path} is not what kgsync wrote; {_REMEDY}") from error
        if content.get("sha256") != digest_of(manifest):
            raise StateCorruptedError(f"{path} does not match its own checksum; {_REMEDY}")
        return cls._of({**manifest, "graph_version": name, "files": files}, path)

    @classmethod
    def _of(cls, content: dict[str, Any], path: Path) -> Description:
        try:
            return cls(**{name: content[name] for name in cls.__dataclass_fields__})
        except KeyError as error:
            raise StateCorruptedError(f"{path} lacks {error}; {_REMEDY}") from None

    def verify(self, folder: Path) -> None:
        """Compare every file in a folder with what was written.

        Raises:
            StateCorruptedError: One is missing or differs.
        """
        for name, written in self.files.items():
            path = folder / name
            try:
                found = recorded(path)
            except OSError as error:
                raise StateCorruptedError(
                    f"cannot read {path}: {error.strerror}; {_REMEDY}"
                ) from error
            if found["bytes"] != written["bytes"]:
                raise StateCorruptedError(
                    f"{path} has {found['bytes']:,} bytes where {written['bytes']:,} were written; "
                    f"{_REMEDY}"
                )
            if found["sha256"] != written["sha256"]:
                raise StateCorruptedError(f"{path} does not match its checksum; {_REMEDY}")


def find_sidecar(path: Path) -> tuple[Path, Description]:
    """The folder with the files of a version, and what is said about them.

    Args:
        path: The folder, that of its version, a state directory, or a current.json.

    Raises:
        StateCorruptedError: There is no usable description of the files.
        StateError: There are no embeddings at this place.
    """
    if path.is_file() and path.name == DESCRIPTION:
        path = path.parent
    if path.is_file() and path.suffix == ".json":
        return _through(path)
    if (path / "current.json").is_file():
        return _through(path / "current.json")
    if (path / FOLDER).is_dir():
        path = path / FOLDER
    if (path / DESCRIPTION).is_file():
        return path, Description.read(path / DESCRIPTION)
    manifest = path.resolve().parent / "manifest.json"
    if manifest.is_file() and path.is_dir():
        return path, Description.of_manifest(manifest)
    if (path / TENSORS).is_file():
        raise StateCorruptedError(
            f"{path} has no {DESCRIPTION}, so its files cannot be verified; {_REMEDY}"
        )
    hint = ""
    if (path / "CURRENT").is_file():
        hint = ": this state has no current.json yet; run `kgsync step`, which writes it"
    raise StateError(f"there are no embeddings at {path}{hint}")


def _through(entry: Path) -> tuple[Path, Description]:
    """The folder that a current.json names."""
    content = read_json(entry, _REMEDY)  # once: it may be replaced at any time
    folder = content.get("folder")
    if not isinstance(folder, str):
        raise StateError(
            f"{entry} names no folder of embeddings; it is not a current.json of kgsync"
        )
    return entry.parent / folder, Description.checked(content, entry)

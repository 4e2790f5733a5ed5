"""current.json: the stable entry point for reading a state without kgsync."""

from __future__ import annotations

from typing import Any

from kgsync.common.checksums import FOLDER, sidecar_files
from kgsync.state.directory import State, VersionFolder
from kgsync.state.mapping import map_tables
from kgsync.state.sidecar import FORMAT, TENSORS

__all__ = ["NAME", "show_current"]

NAME = "current.json"


def show_current(state: State, folder: VersionFolder) -> None:
    """Write a version into current.json, if it is not there; only called under the lock.

    Args:
        state: The state.
        folder: Its committed version.

    Raises:
        StateCorruptedError: The committed version cannot be read.
        StateWriteError: Writing to disk failed.
    """
    shown, manifest = state.recall(NAME), folder.manifest
    if isinstance(shown, dict) and (shown.get("version"), shown.get("created")) == (
        manifest.version,
        manifest.created,
    ):
        return
    state.remember(NAME, _entry(folder))


def _entry(folder: VersionFolder) -> dict[str, Any]:
    manifest = folder.manifest
    tensors = map_tables(folder.path / FOLDER / TENSORS)
    return {
        "format": FORMAT,
        "version": manifest.version,
        "previous": manifest.previous,
        "graph_version": manifest.graph_version["name"],
        "created": manifest.created,
        "folder": f"{folder.path.name}/{FOLDER}",
        "model": manifest.model,
        "dimension": int(tensors["entity"].shape[1]),
        "files": sidecar_files(manifest.files),
    }

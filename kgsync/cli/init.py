"""`kgsync init`: inspect a store and write a commented settings file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgsync.common.durable import write_file
from kgsync.config import EndpointSettings, ModelSettings, Settings, SourceSettings
from kgsync.config.template import template
from kgsync.config.toml_files import build
from kgsync.errors import ConfigError, KgsyncError, StateLockedError
from kgsync.graph.stores import opened, store_label
from kgsync.source.reading import versions_of
from kgsync.state.directory import State, folder_name

__all__ = ["removing_new_state", "restoring", "write_config"]


@contextmanager
def restoring(path: Path) -> Iterator[None]:
    """Give a file back the content it had if an error ends the block; remove it if it is new."""
    before = _content(path)
    try:
        yield
    except KgsyncError:
        if before is None:
            path.unlink(missing_ok=True)
        elif _content(path) != before:
            write_file(path, before)
        raise


@contextmanager
def removing_new_state(state: State) -> Iterator[None]:
    """Remove the directory of a state if an error ends the block, unless it was there before.

    A state with a written version stays: the store may hold a part of it, which belongs to this
    state. So does one that another process has made meanwhile.
    """
    new = [path for path in (state.path, state.path.parent) if not path.exists()]
    try:
        yield
    except StateLockedError:
        raise
    except KgsyncError:
        if state.path in new and state.path.exists() and not (state.path / folder_name(1)).exists():
            shutil.rmtree(state.path, ignore_errors=True)
            with suppress(OSError):  # another state is in it meanwhile
                for parent in new[1:]:
                    parent.rmdir()
        raise


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def write_config(
    path: Path,
    store: str,
    graphs: str | None,
    model: str,
    dimension: int | None,
    adopt: Path | None,
    *,
    update_url: str | None,
    auth: str,
    force: bool,
) -> dict[str, Any]:
    """Write the settings file after checking that the store has versions.

    Raises:
        ConfigError: The file already exists, or an argument is invalid.
        KgsyncError: The store cannot be read.
    """
    if path.exists() and not force:
        raise ConfigError(f"{path} already exists; use --force to overwrite it")
    if store_label(store) != store:
        raise ConfigError(
            "a settings file must not contain credentials: remove them from the URL, set auth in "
            "[source.endpoint], and KGSYNC_USER and KGSYNC_PASSWORD in the environment"
        )
    if dimension is None:
        dimension = _dimension_of(adopt) if adopt else ModelSettings(model).dimension
    endpoint = build(EndpointSettings, {"auth": auth}, "source.endpoint")
    if update_url is not None:
        endpoint = replace(endpoint, update_url=update_url)
    source = SourceSettings(store=store, graphs=graphs, endpoint=endpoint)
    settings = Settings(source=source, model=ModelSettings(model, dimension))
    with opened(endpoint.applied(store)) as opened_store:
        versions = versions_of(opened_store, settings)
    if versions.order == "live":
        found = f"one live graph, {versions.versions[0].graph or 'the default graph'}"
    else:
        found = f"{len(versions.versions)} graph versions, ordered by {versions.order}"
    # An argument is relative to the working directory, a path in the file to the file.
    place = store if "://" in store else _relative(Path(store), path.parent)
    text = template(
        {
            "source": {"store": place, "graphs": graphs},
            "source.endpoint": {
                "update_url": update_url,
                "auth": auth if auth != "none" else None,
            },
            "model": {"name": model, "dimension": dimension},
        }
    )
    try:
        write_file(path, text)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None
    return {"config": str(path), "found": found, "order": versions.order}


def _dimension_of(file: Path) -> int:
    from kgsync.state.sidecar import load_vectors

    return int(load_vectors(file)["entity"][1].shape[1])


def _relative(target: Path, folder: Path) -> str:
    target = target.resolve()
    try:
        return str(target.relative_to(folder.resolve()))
    except ValueError:
        return str(target)

"""`kgsync init`: inspect a store and write a commented settings file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from kgsync.config import EndpointSettings, ModelSettings, Settings, SourceSettings
from kgsync.config.template import template
from kgsync.config.toml_files import build
from kgsync.errors import ConfigError
from kgsync.graph.stores import opened, store_label
from kgsync.source.reading import versions_of

__all__ = ["write_config"]


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
        path.write_text(text, encoding="utf-8")
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

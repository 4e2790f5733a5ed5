"""`kgsync init`: inspect a store and write a commented settings file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.step_reports import show_report
from kgsync.common.wording import counted
from kgsync.errors import ConfigError, KgsyncError, StateLockedError

if TYPE_CHECKING:
    from kgsync.state.directory import State

__all__ = ["COMMAND", "removing_new_state"]

_STRATEGY = "auto"
"""What a new settings file says; the library's default is the paper's procedure."""


def init(
    store: Annotated[
        str, typer.Argument(help="Oxigraph directory, RDF files, or URL of a SPARQL endpoint.")
    ],
    graphs: Annotated[
        str | None, typer.Option(help="Graph IRI with {version}, or the IRI of one live graph.")
    ] = None,
    model: Annotated[str, typer.Option(help="Embedding model.")] = "transe",
    dimension: Annotated[int | None, typer.Option(help="Dimension of the vectors.")] = None,
    adopt: Annotated[
        Path | None, typer.Option("--from", help="Adopt existing vectors as the first version.")
    ] = None,
    update_url: Annotated[
        str | None, typer.Option(help="SPARQL Update URL, if kgsync writes to the endpoint.")
    ] = None,
    auth: Annotated[
        str, typer.Option(help="Authentication at the endpoint: none, basic, digest, bearer.")
    ] = "none",
    config: Config = CONFIG,
    force: Annotated[bool, typer.Option(help="Overwrite an existing settings file.")] = False,
    json: Json = False,
) -> None:
    """Inspect a store and write a commented settings file for it."""
    output.json = json
    from kgsync.config import EndpointSettings, ModelSettings, Settings, SourceSettings
    from kgsync.config.toml_files import build
    from kgsync.graph.stores import opened, store_label
    from kgsync.source.reading import versions_of

    if config.exists() and not force:
        raise ConfigError(f"{config} already exists; use --force to overwrite it")
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
        found = f"{counted(len(versions.versions), 'graph version')}, ordered by {versions.order}"
    # An argument is relative to the working directory, a path in the file to the file.
    place = store if "://" in store else _relative(Path(store), config.parent)
    values: dict[str, dict[str, Any]] = {
        "source": {"store": place, "graphs": graphs},
        "source.endpoint": {"update_url": update_url, "auth": auth if auth != "none" else None},
        "model": {"name": model, "dimension": dimension},
        "update": {"strategy": _STRATEGY},
    }
    report = None
    with _restoring(config):  # so that the command can be run again
        _write(config, values)
        if adopt is not None:
            with opened_sync(config) as sync, removing_new_state(sync.state):
                report = sync.adopt(adopt)
    output.text(f"wrote {config}: {found}")
    if report is not None:
        show_report(report)
    output.data(
        {
            "config": str(config),
            "found": found,
            "order": versions.order,
            "report": report.to_json() if report else None,
        }
    )
    output.text("next: kgsync plan, then kgsync step")


COMMAND = CommandDeclaration("init", init, place=1, panel=Panel.SET_UP)


def _write(path: Path, values: dict[str, dict[str, Any]]) -> None:
    """Write a settings file that lists every setting, with these values by section."""
    from kgsync.common.durable import write_file
    from kgsync.config.template import template

    try:
        write_file(path, template(values))
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None


@contextmanager
def _restoring(path: Path) -> Iterator[None]:
    """Give a file back the content it had if an error ends the block; remove it if it is new."""
    from kgsync.common.durable import write_file

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
    from kgsync.state.directory import folder_name

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


def _dimension_of(file: Path) -> int:
    from kgsync.state.sidecar import load_vectors

    return int(load_vectors(file)["entity"][1].shape[1])


def _relative(target: Path, folder: Path) -> str:
    target = target.resolve()
    try:
        return str(target.relative_to(folder.resolve()))
    except ValueError:
        return str(target)

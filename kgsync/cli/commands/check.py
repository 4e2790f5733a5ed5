"""`kgsync check`: check a store before it is used."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, Config, Json
from kgsync.cli.output import output
from kgsync.errors import ConfigError, PermanentStoreError, TransientStoreError

if TYPE_CHECKING:
    from kgsync.source.doctor import Finding

__all__ = ["COMMAND", "check"]

_IMPATIENT: dict[str, Any] = {"retries": 0, "timeout": "15s"}
"""A user is waiting for the result."""
_SIGNS = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


def check(
    store: Annotated[
        str | None,
        typer.Argument(help="URL or path of the store; default: the one in the settings."),
    ] = None,
    graphs: Annotated[
        str | None, typer.Option(help="Graph IRI with {version}, or the IRI of one live graph.")
    ] = None,
    auth: Annotated[
        str | None,
        typer.Option(help="Authentication at the endpoint: none, basic, digest, bearer."),
    ] = None,
    update_url: Annotated[str | None, typer.Option(help="SPARQL Update URL.")] = None,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Check a store: its type, features and permissions, and how kgsync would read it."""
    output.json = json
    from kgsync.config import EndpointSettings, Settings, load_settings
    from kgsync.config.toml_files import build
    from kgsync.source.doctor import examine

    settings = load_settings(config) if store is None or config.exists() else Settings()
    if graphs is not None:
        settings = replace(settings, source=replace(settings.source, graphs=graphs))
    if store not in (None, settings.source.store):
        # Credentials and the update URL belong to the store in the settings.
        source = replace(settings.source, endpoint=EndpointSettings())
        settings = replace(settings, source=source)
    endpoint = replace(settings.source.endpoint, **_IMPATIENT)
    if auth is not None:
        endpoint = replace(
            endpoint, auth=build(EndpointSettings, {"auth": auth}, "source.endpoint").auth
        )
    if update_url is not None:
        endpoint = replace(endpoint, update_url=update_url)
    settings = replace(settings, source=replace(settings.source, endpoint=endpoint))
    target = store or settings.source.store
    if target is None:
        raise ConfigError(f"{config} names no store; set source.store, or pass a store")
    findings = examine(settings.source.endpoint.applied(target), settings, None)
    for finding in findings:
        _show(finding)
    output.data({"findings": [asdict(finding) for finding in findings]})
    problems = [finding for finding in findings if finding.result == "problem"]
    if problems:
        later = all(problem.passing for problem in problems)
        raise typer.Exit((TransientStoreError if later else PermanentStoreError).exit_code)


COMMAND = CommandDeclaration("check", check, place=2, panel=Panel.SET_UP)


def _show(finding: Finding) -> None:
    output.text(f"{_SIGNS[finding.result]:8}{finding.what:12}{finding.found}")
    if finding.remedy:
        output.text(f"{'':20}→ {finding.remedy}")

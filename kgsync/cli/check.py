"""`kgsync check`: check a store before it is used."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kgsync.cli.output import output
from kgsync.config import EndpointSettings, Settings, load_settings
from kgsync.config.toml_files import build
from kgsync.errors import ConfigError
from kgsync.source.doctor import Finding, examine

__all__ = ["check_store"]

_IMPATIENT: dict[str, Any] = {"retries": 0, "timeout": "15s"}
"""A user is waiting for the result."""
_SIGNS = {"ok": "ok", "note": "note", "problem": "PROBLEM"}


def check_store(
    store: str | None,
    graphs: str | None,
    config: Path,
    auth: str | None = None,
    update_url: str | None = None,
) -> bool:
    """Print every finding about a store; returns True if there is no problem."""
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
    return all(finding.result != "problem" for finding in findings)


def _show(finding: Finding) -> None:
    output.text(f"{_SIGNS[finding.result]:8}{finding.what:12}{finding.found}")
    if finding.remedy:
        output.text(f"{'':20}→ {finding.remedy}")

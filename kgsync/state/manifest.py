"""What is recorded of every version, in the state and in the metadata graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Manifest"]


@dataclass(frozen=True)
class Manifest:
    """What a version is; everything but the data itself."""

    version: int
    previous: int | None
    graph_version: dict[str, Any]
    created: str
    fingerprint: dict[str, Any]
    model: dict[str, Any]
    triples: int
    skipped: dict[str, int]
    report: dict[str, Any]
    files: dict[str, dict[str, Any]]
    """Path inside the folder -> sha256, bytes."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Everything that was set, by section; what names a place or a person is left out."""
    software: str = ""
    """Version of kgsync that made it; empty if that was not recorded."""

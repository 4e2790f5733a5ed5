"""What is recorded about every version, in the state and in the metadata graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Manifest"]


@dataclass(frozen=True)
class Manifest:
    """The description of a version; everything but its data."""

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
    """All settings by section, except those that name a place or a person."""
    software: str = ""
    """Version of kgsync that made it; empty if not recorded."""
    moves: dict[str, Any] | None = None
    """sha256 and bytes of its record in the folder `moves`; None if it has none."""

"""The settings of the state directory, `[state]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["StateSettings", "VersionSettings"]


@dataclass(frozen=True)
class StateSettings:
    """Where kgsync keeps what it knows."""

    path: str | None = None
    """State directory; `.kgsync/<name of the store>` if not set."""
    keep: int = 3
    """How many embedding versions keep their files."""


class VersionSettings(Protocol):
    """What is recorded of the settings with every version."""

    @property
    def state(self) -> StateSettings:
        """How many versions keep their files."""

    def fingerprint(self) -> dict[str, Any]:
        """What fixes the meaning of the vectors."""

    def hyper_parameters(self) -> dict[str, dict[str, Any]]:
        """What the version was made with."""

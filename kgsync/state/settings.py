"""The settings of the state directory, `[state]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kgsync.common.declare import setting

__all__ = ["StateSettings", "VersionSettings"]


@dataclass(frozen=True)
class StateSettings:
    """Where kgsync keeps its versions, history and notes."""

    path: str | None = setting(
        None,
        "State directory; .kgsync/<name of the store> if not set.",
        kind="path",
        example=".kgsync/name",
    )
    keep: int = setting(3, "Embedding versions that keep their files.", at_least=1)
    history: int = setting(
        1000,
        "Versions whose record of moves is kept, which is small: what changed, and how far every "
        "vector moved; 0 keeps all.",
        at_least=0,
    )


class VersionSettings(Protocol):
    """What is recorded of the settings with every version."""

    @property
    def state(self) -> StateSettings:
        """How many versions keep their files."""

    def fingerprint(self) -> dict[str, Any]:
        """What fixes the meaning of the vectors."""

    def hyper_parameters(self) -> dict[str, dict[str, Any]]:
        """What the version was made with."""

"""A guard that checks only after training, and raises an error of its own."""

from __future__ import annotations

from dataclasses import dataclass

from kgsync.errors import RejectedError
from kgsync.service.settings import GuardSettings
from kgsync.state.transaction import Transaction

STRICT = "1h"
"""Stands for a limit of its own: with this `max_wait`, only the first version is good enough."""


class LateError(RejectedError):
    """The version is not good enough."""


@dataclass(frozen=True)
class LateGuard:
    """Rejects what was learned."""

    settings: GuardSettings

    def check(self, draft: Transaction) -> None:
        if not draft.has_report or draft.base is None or self.settings.schedule.max_wait != STRICT:
            return
        raise LateError(f"{draft.report.entities} entities are not good enough")


guard = LateGuard

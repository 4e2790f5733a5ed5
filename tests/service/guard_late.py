"""The guard of these tests that checks only after training."""

from __future__ import annotations

from dataclasses import replace

from kgsync import Settings
from tests.service.more_guards.late import STRICT


def limited(settings: Settings, *, strictly: bool) -> Settings:
    schedule = replace(settings.schedule, max_wait=STRICT if strictly else "1d")
    return replace(settings, schedule=schedule)

"""The guard against large removals under test."""

from __future__ import annotations

from dataclasses import replace

from kgsync import Settings


def limited(settings: Settings, *, strictly: bool) -> Settings:
    source = replace(settings.source, max_removed=0.0 if strictly else 1.0)
    return replace(settings, source=source)

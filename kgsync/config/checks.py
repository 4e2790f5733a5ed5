"""Settings that have the right type and still make no sense."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from kgsync.common.durations import seconds_of
from kgsync.config.toml_files import check_types
from kgsync.errors import ConfigError

if TYPE_CHECKING:
    from kgsync.config.settings import Settings
    from kgsync.graph.settings import EndpointSettings
    from kgsync.service.settings import ScheduleSettings

__all__ = ["PATHS", "check"]

Rules = list[tuple[bool, str]]

PATHS = (("source", "store"), ("source", "scope"), ("state", "path"), ("publish", "target"))
"""Settings that are paths, or URLs instead."""
_LARGEST_RATE = 1_000_000
"""Far above any that learns, far below what single precision holds."""


def check(settings: Settings) -> None:
    """Look at every rule.

    Raises:
        ConfigError: One is broken; the message names it.
    """
    from kgsync.models import MODELS

    split, model, update = settings.split, settings.model, settings.update
    if model.name not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise ConfigError(f"there is no model named {model.name!r}; known models: {known}")
    declared = MODELS[model.name]
    by_pair = ", ".join(name for name in MODELS if MODELS[name].steps_by_pair)
    wide = ", ".join(name for name in MODELS if MODELS[name].has_relation_dimension)
    for part in fields(settings):
        check_types(getattr(settings, part.name), part.name)
    rules = [
        (min(split.validation, split.test) >= 0, "split: shares must not be negative"),
        (split.validation + split.test < 1, "split: no training edges would be left"),
        (len(split.key.encode()) <= 64, "split: key must be at most 64 bytes"),
        (1 <= model.dimension <= 100_000, "model: dimension must lie between 1 and 100,000"),
        (
            model.dimension % declared.divisor == 0,
            f"model: {model.name} needs a dimension divisible by {declared.divisor}",
        ),
        (0 < model.margin < math.inf, "model: margin must be a positive number"),
        (model.l2_penalty >= 0, "model: l2_penalty must not be negative"),
        (settings.filter.min_degree >= 1, "filter: min_degree must be at least 1"),
        (settings.training.epochs >= 0, "training: epochs must not be negative"),
        (settings.training.batches >= 1, "training: batches must be at least 1"),
        (
            settings.training.steps == "batch"
            or (declared.steps_by_pair and settings.run.backend != "torch"),
            f"training: steps = 'pair' is for {by_pair} only, and not for backend = 'torch'",
        ),
        (
            settings.run.backend != "cpu" or declared.kernels is not None,
            f"run: {model.name} has no kernels for backend = 'cpu'; use 'auto' or 'torch'",
        ),
        (
            settings.run.backend != "cpu" or settings.run.device == "cpu",
            f"run: backend = 'cpu' cannot use device = {settings.run.device!r}; use 'torch'",
        ),
        (
            settings.training.steps == "batch" or settings.run.device == "cpu",
            "training: steps = 'pair' is for run.device = 'cpu' only",
        ),
        (settings.training.validate_every >= 0, "training: validate_every must not be negative"),
        (settings.training.patience >= 1, "training: patience must be at least 1"),
        (
            model.relation_dimension == 0 or declared.has_relation_dimension,
            f"model: {model.name} has no relation_dimension of its own; only {wide} has",
        ),
        (0 <= model.relation_dimension <= 100_000, "model: relation_dimension is out of range"),
        (
            update.start_vectors in ("average", "random") or bool(declared.closed_forms),
            f"update: {model.name} has start_vectors 'average' and 'random' only, not "
            + repr(update.start_vectors),
        ),
        (
            settings.evaluation.stability_sample != 1,
            "evaluation: stability_sample must be 0 or at least 2",
        ),
        (update.start_negatives >= 0, "update: start_negatives must not be negative"),
        (update.jump_rounds >= 0, "update: jump_rounds must not be negative"),
        (update.jump_size > 0, "update: jump_size must be positive"),
        (update.pretraining_epochs >= 0, "update: pretraining_epochs must not be negative"),
        (update.pretraining_negatives >= 1, "update: pretraining_negatives must be at least 1"),
        (update.change_epochs >= 0, "update: change_epochs must not be negative"),
        (update.general_epochs >= 0, "update: general_epochs must not be negative"),
        (update.validate_every >= 0, "update: validate_every must not be negative"),
        (update.patience >= 1, "update: patience must be at least 1"),
        (settings.evaluation.memory_mb >= 1, "evaluation: memory_mb must be at least 1"),
        (settings.state.keep >= 1, "state: keep must be at least 1"),
        (
            settings.publish.keep >= 2,
            "publish: keep must be at least 2: one may be being read",
        ),
        (0 <= settings.publish.tolerance < math.inf, "publish: tolerance must not be negative"),
        (
            settings.publish.tolerance == 0 or settings.publish.literals == "rolling",
            "publish: a tolerance is for literals = 'rolling' only",
        ),
        (
            settings.publish.literals == "none" or settings.publish.metadata,
            "publish: literals need metadata = true, which says what version is current",
        ),
        (
            (settings.publish.base_url or "http://").startswith(("http://", "https://")),
            "publish: base_url must begin with http:// or https://",
        ),
        (0 <= settings.run.threads <= 1024, "run: threads must lie between 0 and 1,024"),
        (0 <= settings.source.max_removed <= 1, "source: max_removed must lie between 0 and 1"),
    ]
    for name in ("validation_sample", "test_sample", "stability_sample"):
        sample = getattr(settings.evaluation, name)
        rules.append((sample >= 0, f"evaluation: {name} must not be negative"))
    for section, key in (
        ("training", "learning_rate"),
        ("update", "pretraining_learning_rate"),
        ("update", "change_learning_rate"),
        ("update", "general_learning_rate"),
    ):
        rate = getattr(getattr(settings, section), key)
        holds = rate is None or 0 < rate <= _LARGEST_RATE
        rules.append((holds, f"{section}: {key} must be above 0 and at most {_LARGEST_RATE:,}"))
    for section, key in PATHS:
        value = getattr(getattr(settings, section), key)
        rules.append(("\0" not in (value or ""), f"{section}: {key} has a NUL character in it"))
    rules += _schedule_rules(settings.schedule)
    rules += _endpoint_rules(settings)
    for right, message in rules:
        if not right:
            raise ConfigError(message)


def _endpoint_rules(settings: Settings) -> Rules:
    for name in ("settle", "read_whole"):
        seconds_of(getattr(settings.source, name), f"source: {name}")
    rules = []
    for section in ("source", "publish"):
        endpoint: EndpointSettings = getattr(settings, section).endpoint
        where = f"{section}.endpoint"
        timeouts = {
            name: seconds_of(getattr(endpoint, name), f"{where}: {name}")
            for name in ("timeout", "answer_timeout")
        }
        rules += [
            (min(timeouts.values()) > 0, f"{where}: a timeout must be longer than 0s"),
            (endpoint.retries >= 0, f"{where}: retries must not be negative"),
            (endpoint.max_bytes >= 1, f"{where}: max_bytes must be at least 1"),
            (
                endpoint.max_rows == 0 or endpoint.max_rows >= 100,
                f"{where}: max_rows must be 0 or at least 100",
            ),
        ]
    return rules


def _schedule_rules(schedule: ScheduleSettings) -> Rules:
    durations = {
        name: seconds_of(getattr(schedule, name), f"schedule: {name}")
        for name in ("every", "jitter", "retry_after", "retry_most", "max_wait")
        if getattr(schedule, name) is not None
    }
    return [
        (None in (schedule.every, schedule.cron), "schedule: set every or cron, not both"),
        (durations.get("every", 1) >= 1, "schedule: every must be at least 1s"),
        (schedule.retries >= 0, "schedule: retries must not be negative"),
        (0 < schedule.max_load <= 1, "schedule: max_load must be above 0 and at most 1"),
        (schedule.min_change >= 0, "schedule: min_change must not be negative"),
    ]

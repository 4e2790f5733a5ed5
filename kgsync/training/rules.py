"""Which settings of training, updating and running fit the model, and each other."""

from __future__ import annotations

from collections.abc import Iterator

from kgsync.common.declare import Rule
from kgsync.models import MODELS
from kgsync.models.parts.titles import titles_of
from kgsync.training.settings import LearningSettings

__all__ = ["learning_rules"]


def learning_rules(settings: LearningSettings) -> Iterator[Rule]:
    """The rules that concern several sections."""
    model, update, declared = settings.model, settings.update, MODELS[settings.model.name]
    by_pair = titles_of(lambda each: each.steps_by_pair)
    yield Rule(
        settings.run.backend != "cpu" or declared.kernels is not None,
        ("run.backend", "model.name"),
        f"[run] {model.name} has no kernels for backend = 'cpu'; use 'auto' or 'torch'",
    )
    yield Rule(
        update.initial_vectors in ("average", "random") or bool(declared.closed_forms),
        ("update.initial_vectors", "model.name"),
        f"[update] {model.name} supports only initial_vectors 'average' and 'random', not "
        + repr(update.initial_vectors),
    )
    yield Rule(
        settings.training.steps == "batch"
        or (declared.steps_by_pair and settings.run.backend != "torch"),
        ("training.steps", "model.name", "run.backend"),
        f"[training] steps = 'pair' works only with {by_pair}, and not with backend = 'torch'",
    )
    yield Rule(
        settings.training.steps == "batch" or settings.run.device == "cpu",
        ("training.steps", "run.device"),
        "[training] steps = 'pair' works only with run.device = 'cpu'",
    )

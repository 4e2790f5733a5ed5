"""The entry point of training for a sync: sets the threads before it imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases
from kgsync.errors import SettingsChangedError, StateCorruptedError, StateError
from kgsync.graph.reading import Reading
from kgsync.models import model_class
from kgsync.training.settings import LearningSettings
from kgsync.training.threads import use_threads

if TYPE_CHECKING:
    from kgsync.training.trained import LearnedVersion, Trained

__all__ = [
    "adopt_version",
    "check_alignable",
    "learn_version",
    "planned_update",
    "relearn_version",
]


def planned_update(
    reading: Reading | None, base: LearnedVersion | None, settings: LearningSettings
) -> dict[str, Any] | None:
    """How a version would be updated, if that is chosen by the change; None if it is not.

    Args:
        reading: The version; None if there is nothing new.
        base: The committed version.
        settings: How it is trained and updated.
    """
    if reading is None or base is None or not reading.change or settings.update.strategy != "auto":
        return None
    use_threads(settings.run.threads)
    from kgsync.training.kept import Kept
    from kgsync.training.problem import Problem
    from kgsync.training.updates.auto import choose

    return asdict(choose(reading.change, Problem.of(reading, settings), Kept(base.kept)))


def learn_version(
    reading: Reading,
    base: LearnedVersion | None,
    settings: LearningSettings,
    phases: Phases,
    cost: Cost,
) -> Trained:
    """Make the model of a version; see `kgsync.training.learning.learn`."""
    use_threads(settings.run.threads)
    from kgsync.training.learning import learn
    from kgsync.training.problem import Problem

    return learn(reading, base, Problem.of(reading, settings), phases, cost)


def relearn_version(
    reading: Reading,
    base: LearnedVersion,
    settings: LearningSettings,
    phases: Phases,
    cost: Cost,
) -> Trained:
    """Retrain, aligned with the committed version; see `kgsync.training.learning.relearn`."""
    use_threads(settings.run.threads)
    from kgsync.training.learning import relearn
    from kgsync.training.problem import Problem

    return relearn(reading, base, Problem.of(reading, settings), phases, cost)


def check_alignable(base: LearnedVersion | None, settings: LearningSettings) -> None:
    """Check that retrained vectors can be brought into the space of the committed ones.

    Raises:
        StateError: There is no committed version.
        StateCorruptedError: It is damaged.
        SettingsChangedError: It has another model, or vectors of another length.
    """
    if base is None:
        raise StateError("there are no vectors to align with yet; run `kgsync step`")
    try:
        _, found = base.active, {name: table.shape[1] for name, table in base.tables.items()}
    except StateCorruptedError as error:
        raise StateCorruptedError(
            f"vectors cannot be aligned with damaged ones: {error}"
        ) from error
    then, now = base.model["name"], settings.model.name
    layout = model_class(now).layout(settings.model)
    wanted = {name: spec.width for name, spec in layout.items()}
    if (then, found) != (now, wanted):
        raise SettingsChangedError(
            f"the committed vectors are {then} with {_widths(found)}, but the settings ask for "
            f"{now} with {_widths(wanted)}: only vectors of the same model and length can be "
            "aligned; change the settings back, or run `kgsync rebuild` without --aligned"
        )


def _widths(tables: Mapping[str, int]) -> str:
    return ", ".join(f"{width} numbers per {name}" for name, width in tables.items())


def adopt_version(
    reading: Reading,
    vectors: dict[str, tuple[list[str], Any]],
    file: str,
    settings: LearningSettings,
) -> Trained:
    """Make the model of a version of given vectors; see `kgsync.training.learning.adopt`."""
    use_threads(settings.run.threads)
    from kgsync.training.learning import adopt
    from kgsync.training.problem import Problem

    return adopt(reading, Problem.of(reading, settings), vectors, file)

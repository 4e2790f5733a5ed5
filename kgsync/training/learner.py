"""What a sync learns with: one object that turns readings into models under its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgsync.common.cost import Cost
from kgsync.common.listener import Phases
from kgsync.common.seeds import Seeds
from kgsync.graph.living import Living
from kgsync.graph.reading import Reading
from kgsync.training.settings import LearningSettings
from kgsync.training.threads import use_threads

if TYPE_CHECKING:
    from kgsync.state.committed import CommittedVersion
    from kgsync.training.problem import Problem
    from kgsync.training.trained import Trained

__all__ = ["Learner"]


@dataclass(frozen=True)
class Learner:
    """Learns under some settings; torch is imported when there is something to learn."""

    settings: LearningSettings

    def learn(
        self,
        reading: Reading,
        base: CommittedVersion | None,
        number: int,
        phases: Phases,
        cost: Cost,
    ) -> Trained:
        """Train from scratch, update, or leave alone; see `kgsync.training.learning.learn`.

        Args:
            reading: The graph version.
            base: The committed version, if there is one to update.
            number: The embedding version to be made.
            phases: Times what is done.
            cost: Counters to increase.
        """
        use_threads(self.settings.run.threads)
        from kgsync.training.learning import learn

        return learn(reading, base, self._problem(reading, number), phases, cost)

    def adopt(
        self,
        reading: Reading,
        number: int,
        vectors: dict[str, tuple[list[str], Any]],
        file: str,
    ) -> Trained:
        """Take given vectors as they are; see `kgsync.training.learning.adopt`."""
        use_threads(self.settings.run.threads)
        from kgsync.training.learning import adopt

        return adopt(reading, self._problem(reading, number), vectors, file)

    def _problem(self, reading: Reading, number: int) -> Problem:
        from kgsync.training.problem import Problem

        version = reading.version
        # A live version's name is a time: its place in the sequence makes the run repeatable.
        name = f"{version.graph}@{number}" if version.live else version.name
        seeds = Seeds(self.settings.run.seed, name)
        living, terms = Living.of(reading.edges), reading.fetched.terms
        return Problem(living, reading.split, reading.edges, terms, self.settings, seeds)

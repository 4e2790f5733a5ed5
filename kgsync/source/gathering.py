"""Which graph version a step takes, and whether its change is large enough yet.

Changes that wait, and since when, are noted in the state directory, so that a restart of the
process does not prolong the wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from kgsync.common.durations import seconds_of
from kgsync.graph.port import GraphStore
from kgsync.graph.reading import Reading
from kgsync.graph.versions import GraphVersion
from kgsync.source.notes import CommittedBase, Notes
from kgsync.source.reading import Earlier, read_version
from kgsync.source.settings import ReadingSettings

__all__ = ["Choice", "Waiting", "choose"]

_FILE = "waiting.json"


@dataclass(frozen=True)
class Waiting:
    """Changes that were seen but not taken yet; the file `waiting.json` of a state."""

    base: int
    """Embedding version that they would change."""
    since: str
    """When the first of them was seen."""
    triples: dict[str, int] = field(default_factory=dict)
    """Graph version -> how many triples it adds or deletes."""

    @classmethod
    def load(cls, notes: Notes, current: CommittedBase | None) -> Waiting | None:
        """What waits to change the current version."""
        try:
            data = notes.recall(_FILE)
            waiting = cls(int(data["base"]), str(data["since"]), dict(data["triples"]))
            datetime.fromisoformat(waiting.since)
        except (ValueError, KeyError, TypeError):
            return None  # only the waiting time is lost
        known = current is not None and waiting.base == current.number
        return waiting if known else None

    def save(self, notes: Notes) -> None:
        """Remember it; only called while the state is locked."""
        notes.remember(_FILE, asdict(self))

    @staticmethod
    def forget(notes: Notes) -> None:
        """Nothing waits any more."""
        notes.forget(_FILE)


@dataclass(frozen=True)
class Choice:
    """A reading, and whether to take it."""

    reading: Reading
    waiting: Waiting | None = None
    """What waits, if the reading is not to be taken yet."""
    until: str | None = None
    """When it will be taken in any case."""

    def report(self) -> dict[str, Any]:
        """Fields of the report of a step that waits."""
        names = (*self.reading.gathered, self.reading.version.name)
        return {
            "action": "waiting",
            "behind": len(names),
            "gathered": names,
            "waiting_until": self.until,
            "change": self.reading.change.counts(),
        }


def choose(
    store: GraphStore,
    ahead: tuple[GraphVersion, ...],
    current: CommittedBase | None,
    settings: ReadingSettings,
    notes: Notes,
    *,
    now: bool = False,
) -> Choice:
    """Read the pending versions until one has a large enough change.

    Args:
        store: The open source.
        ahead: The pending versions, at least one.
        current: The committed version; the first one is always worth a step.
        settings: Everything about reading; `min_change`, `max_wait`, `latest_only`.
        notes: Says which changes already wait. Nothing is written.
        now: Take the change however small it is.

    Raises:
        VersionError: A version has no edges to embed or to train on.
        StoreError: It could not be read completely.
    """
    schedule, earlier = settings.schedule, Earlier.committed(current, settings, notes)
    remembered = Waiting.load(notes, current)
    seen = _still_there(remembered, ahead)
    last = len(ahead) - 1
    start = last if schedule.latest_only else 0
    for position in range(start, last + 1):
        if position < last and seen.get(ahead[position].name, schedule.min_change) < (
            schedule.min_change
        ):
            continue  # a version does not change, so it is as small as it was
        reading = read_version(store, ahead[position:], earlier, settings)
        gathered = tuple(version.name for version in ahead[:position])
        reading = replace(reading, gathered=gathered)
        triples = len(reading.change.added_triples) + len(reading.change.deleted_triples)
        # A version without a change costs nothing: there is no reason to let it wait.
        if current is None or triples == 0 or triples >= schedule.min_change:
            return Choice(reading)
        seen[ahead[position].name] = triples
    since = remembered.since if remembered else datetime.now(UTC).isoformat(timespec="milliseconds")
    wait = timedelta(seconds=seconds_of(schedule.max_wait))
    until = datetime.fromisoformat(since) + wait
    if current is None or now or datetime.now(UTC) >= until:
        return Choice(reading)
    waiting = Waiting(current.number, since, seen)
    return Choice(reading, waiting, until.isoformat(timespec="seconds"))


def _still_there(remembered: Waiting | None, ahead: Iterable[GraphVersion]) -> dict[str, int]:
    triples = remembered.triples if remembered else {}
    return {version.name: triples[version.name] for version in ahead if version.name in triples}

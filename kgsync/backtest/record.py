"""The result of one method at one version: what is measured, and as one row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from kgsync.backtest.methods import current_name

__all__ = ["Moment", "Record", "rows_of"]


@dataclass(frozen=True)
class Moment:
    """A validation during training."""

    epoch: int
    seconds: float
    mrr: float
    hits_at_10: float
    nmc_entities: float | None
    """Change since the validation before."""
    nmc_relations: float | None


@dataclass(frozen=True)
class Record:
    """The result of one method at one version."""

    model: str
    method: str
    version: int
    """Place in the history, from 0."""
    graph_version: str
    triples: int
    entities: int
    relations: int
    added: int
    deleted: int
    mrr: float | None
    mrr_error: float | None
    mr: float | None
    hits_at_1: float | None
    hits_at_3: float | None
    hits_at_10: float | None
    hits_at_100: float | None
    accuracy: float | None
    """Of triple classification."""
    nmc_entities: float | None
    """Change since the version before."""
    nmc_entities_error: float | None
    nmc_relations: float | None
    seconds: float
    """Time of training or updating, validations included, measuring not."""
    epochs: int
    best_epoch: int | None
    score_evaluations: int
    gradient_steps: int
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Quality of groups of triples around the change; see `kgsync.evaluation.learned`."""
    neighbors: dict[str, Any] | None = None
    """Nearest neighbors that are the same as before; see `kgsync.evaluation.neighbors`."""
    rewritten_entities: float | None = None
    """Share of the entities in both versions whose vectors are not the same to the bit."""
    rewritten_relations: float | None = None
    cpu_seconds: float | None = None
    """As `seconds`, of all threads together."""
    phases: dict[str, dict[str, float]] = field(default_factory=dict)
    """The same two by phase."""
    strategy: str | None = None
    """The update strategy; None for other methods."""
    choice: dict[str, Any] | None = None
    """If the strategy chose another for the change: which, and why."""
    moments: tuple[Moment, ...] = field(default=(), compare=False)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Record:
        """Read back what `asdict` made."""
        moments = tuple(Moment(**moment) for moment in data["moments"])
        return cls(**{**data, "method": current_name(data["method"]), "moments": moments})

    def group(self, name: str) -> float | None:
        """The MRR of a group of triples; None if it was not measured."""
        found = self.groups.get(name)
        return None if found is None else float(found["mrr"])


def rows_of(records: Sequence[Record]) -> list[dict[str, Any]]:
    """Records as rows of one table, with all columns that any of them has."""
    rows = [_row(record) for record in records]
    names = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in names} for row in rows]


def _row(record: Record) -> dict[str, Any]:
    nested = "groups", "neighbors", "phases", "choice", "moments"
    row = {name: value for name, value in asdict(record).items() if name not in nested}
    for group, found in record.groups.items():
        row |= {f"{group}_{name}": value for name, value in found.items()}
    for name in ("overlap", "error", "sample"):
        row[f"neighbors_{name}"] = (record.neighbors or {}).get(name)
    row["chosen_strategy"] = (record.choice or {}).get("strategy")
    row["chosen_because"] = (record.choice or {}).get("reason")
    for phase, times in record.phases.items():
        row |= {f"{name}_{phase.replace(' ', '_')}": value for name, value in times.items()}
    return row

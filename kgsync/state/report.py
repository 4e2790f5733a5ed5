"""Reports of steps, as plain values that print, compare and serialise to JSON."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from kgsync.common.cost import Cost
from kgsync.common.wording import counted
from kgsync.graph.change import ChangeCounts
from kgsync.graph.versions import Order
from kgsync.state.comparison_lines import comparison_lines, update_lines

__all__ = ["Action", "Plan", "Quality", "StepReport"]

Action = Literal["trained", "updated", "unchanged", "adopted", "rebuilt", "waiting", "nothing new"]
Quality = dict[str, float]
"""Link prediction: mr, mrr, hits@k, mrr_error, hits@10_error, triples, sampled_from."""
_DERIVED = "changed", "scores_per_second", "waiting_triples"
"""Properties of a report that stand in its JSON."""
_WIDTH = 78
"""Characters of a line; a whole report indents them by two."""
_TRAINING = "train", "initial vectors", "start vectors", "update"
"""Phases that score triples; earlier releases called the initial vectors "start vectors"."""


@dataclass(frozen=True)
class StepReport:
    """What one step did."""

    action: Action
    version: int | None = None
    """Number of the embedding version that is current now."""
    previous: int | None = None
    graph_version: str | None = None
    """Name of the graph version it belongs to."""
    behind: int = 0
    """Number of pending graph versions."""
    gathered: tuple[str, ...] = ()
    """Graph versions whose changes were taken, or wait, together."""
    waiting_until: str | None = None
    """Action "waiting": when the change is taken at the latest, however small."""
    triples: dict[str, int] = field(default_factory=dict)
    """Edges of the version by part."""
    entities: int = 0
    relations: int = 0
    untrained: int = 0
    """Elements without a training edge: they keep their initial vector."""
    change: ChangeCounts | None = None
    skipped: dict[str, int] = field(default_factory=dict)
    """Triples that are not embedded, by reason."""
    adopted: dict[str, int] = field(default_factory=dict)
    """After adoption: vectors adopted, elements without one, vectors unused."""
    quality_before: Quality | None = None
    """Before training: old vectors of remaining elements, initial vectors of new ones."""
    quality: Quality | None = None
    """On the test edges."""
    validation: Quality | None = None
    """On the validation edges, at the best epoch by Hits@10."""
    stability: dict[str, dict[str, float] | None] | None = None
    """How far the vectors of "entity" and "relation" moved: nmc, shared, sample, error."""
    learned: dict[str, Any] | None = None
    """Groups of triples around the change: see `kgsync.evaluation.learned.Learned`."""
    neighbors: dict[str, float] | None = None
    """Nearest neighbors that are the same: overlap, error, k, sample, candidates, shared."""
    rewritten: dict[str, dict[str, int]] | None = None
    """Vectors of "entity" and "relation" that differ from the version before: moved, out of shared,
    the elements that both have."""
    update: dict[str, Any] | None = None
    """How the vectors were updated: strategy, reason, and the score evaluations, predicted of each
    strategy (predicted) and found (scores)."""
    alignment: dict[str, Any] | None = None
    """After aligned retraining: its method, and the stability before it (stability_before)."""
    epochs: int = 0
    best_epoch: int | None = None
    stopped_early: bool = False
    way: str = ""
    """How the change was found: "scan", "difference", "buckets" or "changes"."""
    caveat: str = ""
    """What this method cannot detect, and when it will be found."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall time by phase."""
    cost: Cost = field(default_factory=Cost)
    peak_memory_mb: float = 0.0
    """Of the step, if the system provides it; otherwise of the process so far."""
    literals: dict[str, float] | None = None
    """Vectors written as literals: written, removed, unchanged, left_out; and how far those that
    were replaced had moved: farthest, mean."""
    files: str | None = None
    """Folder of the sidecar files."""
    warnings: tuple[str, ...] = ()

    @property
    def scores_per_second(self) -> float | None:
        """Triples scored per second of training or updating, including validation."""
        spent = sum(self.seconds.get(name, 0.0) for name in _TRAINING)
        return self.cost.score_evaluations / spent if spent else None

    @property
    def changed(self) -> bool:
        """Whether a version was committed."""
        return self.action not in ("waiting", "nothing new")

    @property
    def waiting_triples(self) -> int:
        """Action "waiting": how many triples were added or deleted so far."""
        return _size(self.change) if self.action == "waiting" else 0

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), **{name: getattr(self, name) for name in _DERIVED}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> StepReport:
        """A report from what `to_json` gave."""
        data = {key: value for key, value in data.items() if key not in _DERIVED}
        if data["change"] is not None:
            data["change"] = ChangeCounts.from_json(data["change"])
        cost, warnings = Cost(**data["cost"]), tuple(data["warnings"])
        gathered = tuple(data.get("gathered", ()))
        return cls(**{**data, "cost": cost, "warnings": warnings, "gathered": gathered})

    def __str__(self) -> str:
        if self.action == "waiting":
            return waiting_line(self.change, self.waiting_until)
        if not self.changed:
            current = "nothing committed yet" if self.version is None else f"version {self.version}"
            return f"nothing new ({current}, graph {self.graph_version})"
        change = str(self.change).splitlines() if self.change else []
        lines = [f"  {line}" for line in [*change, *self.summary()]]
        return "\n".join(
            [f"version {self.version}: {self.action} from {self.graph_version}", *lines]
        )

    def summary(self) -> list[str]:
        """Size, quality, cost and warnings, one line each."""
        sizes = [
            f"{counted(sum(self.triples.values()), 'triple')} ({named_counts(self.triples)})",
            counted(self.entities, "entity"),
            counted(self.relations, "relation"),
        ]
        lines = [", ".join(sizes)]
        if self.gathered:
            lines.append(f"together with {', '.join(self.gathered)}")
        if any(self.skipped.values()):
            lines.append(f"not embedded: {named_counts(self.skipped)}")
        if self.untrained:
            lines.append(f"without a training triple: {self.untrained:,}")
        if self.adopted:
            lines.append(f"vectors: {named_counts(self.adopted)}")
        for label, quality in (("before", self.quality_before), ("after", self.quality)):
            if quality is not None:
                lines.append(f"quality {label:6} {describe_quality(quality)}")
        if self.validation is not None:
            lines.append(
                f"best epoch     {self.best_epoch}: {describe_validation(self.validation)}"
            )
        if self.update is not None:
            lines += update_lines(self.update)
        lines += self._movement()
        lines += comparison_lines(self.learned, self.rewritten, self.neighbors)
        if self.literals is not None:
            counts = {k: int(v) for k, v in self.literals.items() if k not in ("farthest", "mean")}
            lines.append(f"literals: {named_counts(counts)}")
            if self.literals["farthest"]:
                mean, farthest = self.literals["mean"], self.literals["farthest"]
                lines[-1] += f"; those replaced had moved by {mean:.3g}, at most {farthest:.3g}"
        total = sum(self.seconds.values())
        phases = ", ".join(f"{name} {value:.1f}" for name, value in self.seconds.items())
        spent = f"{counted(self.epochs, 'epoch')}, {total:.1f} s ({phases})"
        lines += _wrapped(spent, "  ")
        if self.cost.score_evaluations and self.scores_per_second:
            million = self.scores_per_second / 1e6
            lines.append(f"{million:.2f} M scores per second, peak {self.peak_memory_mb:,.0f} MB")
        lines += [f"note: {self.caveat}"] if self.caveat else []
        lines += [f"warning: {warning}" for warning in self.warnings]
        if self.behind:
            lines.append(f"{counted(self.behind, 'version')} still to do")
        return lines

    def _movement(self) -> list[str]:
        """How far vectors moved, and how they were aligned."""
        lines = []
        if any((self.stability or {}).values()):
            lines.append(f"moved (NMC)    {_nmc(self.stability)}")
        if self.alignment is not None:
            lines += _wrapped(_alignment_line(**self.alignment))
        return lines


@dataclass(frozen=True)
class Plan:
    """What the next step would do; nothing was changed."""

    graph_version: str | None
    """Name of the next graph version, or None if there is nothing to do."""
    order: Order
    """How the versions are ordered."""
    behind: int
    """Number of pending graph versions."""
    pending: tuple[str, ...]
    """Graphs that match but are not issued yet."""
    passed_over: tuple[str, ...] = ()
    """Graphs added late, before the current version: they are skipped."""
    empty: tuple[str, ...] = ()
    """Graphs without triples that the catalogue lists before the next version."""
    gathered: tuple[str, ...] = ()
    """Graph versions before it whose changes would be taken with it."""
    waiting_until: str | None = None
    """The change is too small to be taken before then."""
    change: ChangeCounts | None = None
    update: dict[str, Any] | None = None
    """How the vectors would be updated, if the change decides: strategy, reason, and the predicted
    score evaluations of each strategy (predicted)."""
    removed_share: float = 0.0
    """Share of the current edges that the step would remove."""
    rejected: str = ""
    """Why a guard would reject the step, as far as that is known before training."""
    skipped: dict[str, int] = field(default_factory=dict)
    way: str = ""
    reason: str = ""
    """Why this method was used."""
    caveat: str = ""
    """What this method cannot detect, and when it will be found."""
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    def __str__(self) -> str:
        lines = ["nothing to do: the embeddings are up to date"]
        if self.graph_version is not None:
            lines = self._next()
        for what, names in (
            ("added late, will be skipped", self.passed_over),
            ("empty, will be skipped", self.empty),
            ("not issued yet", self.pending),
        ):
            lines += [f"{what}: {', '.join(names)}"] if names else []
        return "\n".join([*lines, *(f"warning: {warning}" for warning in self.warnings)])

    def _next(self) -> list[str]:
        """What is known about the next version, one line each."""
        to_do = counted(self.behind, "version")
        lines = [f"next: {self.graph_version} ({to_do} to do, ordered by {self.order})"]
        if self.change is not None:
            lines += str(self.change).splitlines()
        if self.gathered:
            lines.append(f"together with {', '.join(self.gathered)}")
        if self.update is not None:
            lines += update_lines(self.update)
        if self.waiting_until:
            lines.append(waiting_line(self.change, self.waiting_until))
        lines.append(f"found by {self.way}: {self.reason}")
        if self.caveat:
            lines.append(f"note: {self.caveat}")
        if self.removed_share:
            lines.append(f"removes {self.removed_share:.1%} of the current triples")
        if self.rejected:
            lines += _wrapped(f"the next step would be rejected: {self.rejected}", "  ")
        if any(self.skipped.values()):
            lines.append(f"not embedded: {named_counts(self.skipped)}")
        return lines


def _wrapped(line: str, indent: str = 15 * " ") -> list[str]:
    """A line as lines that fit."""
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False)


def waiting_line(change: ChangeCounts | None, until: str | None) -> str:
    """One line: what waits, and until when."""
    waits = counted(_size(change), "changed triple")
    return f"waiting: {waits}, until min_change is reached or {until}"


def _size(change: ChangeCounts | None) -> int:
    return sum(change.added_triples) + sum(change.deleted_triples) if change else 0


def _alignment_line(method: str, stability_before: dict[str, dict[str, float] | None]) -> str:
    """One line: how vectors were aligned, or why they could not be."""
    if not stability_before.get("entity"):
        return "not aligned: no common entities"
    if not method:
        return "not aligned: no common relations"
    return f"aligned        {method}; without it, moved {_nmc(stability_before)}"


def _nmc(stability: dict[str, dict[str, float] | None] | None) -> str:
    """NMC of the entities and of the relations, where it is defined."""
    moved = {kind: change["nmc"] for kind, change in (stability or {}).items() if change}
    return ", ".join(f"{kind} {nmc:.3g}" for kind, nmc in moved.items()) or "undefined"


def describe_quality(quality: Quality) -> str:
    """One line: MRR, Hits@10, MR, the first two with their errors."""
    parts = []
    for title, name in (("MRR", "mrr"), ("Hits@10", "hits@10")):
        error = quality.get(f"{name}_error")
        parts.append(f"{title} {quality[name]:.3f}" + (f" ± {error:.3f}" if error else ""))
    return ", ".join([*parts, f"MR {quality['mr']:.1f}"])


def describe_validation(quality: Quality) -> str:
    """One line: Hits@10 with its error, and the edges it was measured on."""
    triples, all_ = int(quality["triples"]), int(quality["sampled_from"])
    sampled = f" of {all_:,}" if triples < all_ else ""
    error = f" ± {quality['hits@10_error']:.3f}" if sampled else ""
    return f"Hits@10 {quality['hits@10']:.3f}{error} on {triples:,}{sampled} validation triples"


def named_counts(counts: dict[str, int]) -> str:
    """The non-zero counts, in words."""
    found = ((name.replace("_", " "), count) for name, count in counts.items() if count)
    return ", ".join(f"{count:,} {name}" for name, count in found)

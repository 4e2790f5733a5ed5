"""What a report says in words about what was learned and forgotten, and what consumers notice."""

from __future__ import annotations

from typing import Any

__all__ = ["comparison_lines", "rewritten_share", "update_lines"]

_PAIRS = (
    ("learned", "added", "unchanged"),
    ("forgotten", "deleted", "unseen"),
    ("test triples", "near", "elsewhere"),
)
_PLURAL = {"entity": "entities", "relation": "relations"}
_NAME = 20
"""Characters of the name of an element: with three of them, a line fits a terminal."""


def comparison_lines(
    learned: dict[str, Any] | None,
    rewritten: dict[str, dict[str, int]] | None,
    neighbors: dict[str, float] | None,
) -> list[str]:
    """One line per pair of groups, the deleted triples that still rank high, and what is kept."""
    lines = [] if learned is None else [*_groups(learned), *_still_ranked(learned)]
    shares = {kind: rewritten_share(rewritten, kind) for kind in ("entity", "relation")}
    told = [
        f"{share:.1%} of the {_PLURAL[kind]}" for kind, share in shares.items() if share is not None
    ]
    if told:
        lines.append(f"rewritten      vectors of {', '.join(told)}")
    if neighbors is not None:
        error = f" ± {neighbors['error']:.1%}" if neighbors["error"] else ""
        lines.append(
            f"neighbors      {neighbors['overlap']:.1%}{error} of the {neighbors['k']} nearest are "
            f"the same ({neighbors['sample']:,} entities)"
        )
    candidates, entities = _candidates(learned, neighbors)
    if candidates < entities:
        lines.append(f"these are among {candidates:,} of {entities:,} entities")
    return lines


def update_lines(update: dict[str, Any]) -> list[str]:
    """The strategy and why it was chosen; the work in score evaluations, predicted and found."""
    name, predicted, scores = update["strategy"], update["predicted"], update.get("scores")
    lines = [f"update         {name}" + (f": {update['reason']}" if update["reason"] else "")]
    found = [] if scores is None else [f"{_short(scores)} scores"]
    if predicted:
        expected = ", ".join(f"{each} {_short(count)}" for each, count in predicted.items())
        found.append(f"predicted: {expected}")
    return [*lines, f"work           {'; '.join(found)}"] if found else lines


def _short(count: int) -> str:
    return f"{count / 1e6:,.1f} M" if count >= 100_000 else f"{count:,}"


def rewritten_share(rewritten: dict[str, dict[str, int]] | None, kind: str) -> float | None:
    """Share of the vectors of elements that stayed which differ from before, if there are any."""
    counts = (rewritten or {}).get(kind)
    return counts["moved"] / counts["shared"] if counts and counts["shared"] else None


def _groups(learned: dict[str, Any]) -> list[str]:
    lines = []
    for label, *names in _PAIRS:
        groups = {name: learned["groups"].get(name) for name in names}
        told = [_group(name, group) for name, group in groups.items() if group is not None]
        if groups[names[0]] is not None:
            lines.append(f"{label:14} MRR {', '.join(told)}")
    return lines


def _group(name: str, group: dict[str, Any]) -> str:
    quality = _with_error(group["mrr"], group["mrr_error"])
    return f"{quality} on {group['triples']:,} {name}"


def _still_ranked(learned: dict[str, Any]) -> list[str]:
    deleted, unseen = (learned["groups"].get(name) for name in ("deleted", "unseen"))
    if deleted is None or not deleted["top_10"]:
        return []
    line = f"still ranked   {deleted['top_10']:,} of {deleted['triples']:,} deleted in a top 10"
    if unseen is not None:
        line += f", {unseen['top_10']:,} of {unseen['triples']:,} unseen"
    named = list(map(_ranked_triple, learned["still_ranked"]))
    return [line, *(["  head rank/tail rank: triple"] if named else []), *named]


def _ranked_triple(ranked: dict[str, Any]) -> str:
    names = " ".join(_local(ranked[part]) for part in ("head", "relation", "tail"))
    return f"  {ranked['head_rank']:g}/{ranked['tail_rank']:g}: {names}"


def _candidates(
    learned: dict[str, Any] | None, neighbors: dict[str, float] | None
) -> tuple[int, int]:
    if learned is not None:
        return learned["candidates"], learned["entities"]
    if neighbors is not None:
        return int(neighbors["candidates"]), int(neighbors["shared"])
    return 0, 0


def _with_error(value: float, error: float) -> str:
    return f"{value:.3f}" + (f" ± {error:.3f}" if error else "")


def _local(iri: str) -> str:
    """The end of an IRI; the IRI itself is in the JSON and in the metadata."""
    name = iri.rstrip("/#").replace("#", "/").rpartition("/")[2]
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"

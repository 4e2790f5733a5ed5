"""Cutting a graph into parts that fit under an endpoint's limit on rows, by counting first.

By predicate; a predicate that is too large by its subjects; what is too large for one subject, or
has blank nodes as subjects, by a hash of subject and object. The counts must add up to the whole:
nothing may fall between two parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kgsync import queries
from kgsync.errors import ConfigError, PermanentStoreError, TransientStoreError
from kgsync.queries import Pattern

__all__ = ["Part", "only_count", "parts_of"]

Counts = Callable[[str], dict[str, int]]
"""Asks for names and counts; without names for one count, under an empty one."""

_VALUES = 1000
"""So many values in one query: Virtuoso refuses several thousand."""
_FIRST = "A:"
"""Before every IRI."""
_PAGE = 5000
"""So many names in one answer: Virtuoso sorts no more than 10,000 rows."""
_MOST_DIGITS = 12
"""Of a hash: what has more in common is the same text."""


@dataclass(frozen=True)
class Part:
    """Some triples of a graph, and how many there are."""

    where: Pattern
    count: int


def parts_of(ask: Counts, where: Pattern, total: int, most: int) -> Iterator[Part]:
    """Parts that together are the whole.

    Args:
        ask: Asks the endpoint.
        where: The triples.
        total: How many they are.
        most: How many rows a part may have.

    Raises:
        TransientStoreError: The counts do not add up, as if the graph were being changed.
        PermanentStoreError: The graph cannot be cut finely enough.
    """
    counts = _by_predicate(ask, where, most)
    if sum(counts.values()) != total:
        raise TransientStoreError("the counts of its predicates do not add up")
    small = {p: n for p, n in counts.items() if n <= most}
    for predicates, count in _packed(small.items(), most):
        bound = _pattern("_pattern_predicates", where=where, predicates=predicates)
        yield Part(bound, count)
    for predicate in counts.keys() - small.keys():
        yield from _by_subject(ask, where, predicate, counts[predicate], most)


def _by_predicate(ask: Counts, where: Pattern, most: int) -> dict[str, int]:
    """The counts of all predicates, in pages if there are that many."""
    size = _page_size(most)
    counts = ask(_bound("_count_by_predicate", where=where, most=size))
    if len(counts) < size:
        return counts
    counts, last = {}, _FIRST
    while True:
        page = ask(_bound("_count_by_predicate_after", where=where, after=last, most=size))
        counts |= page
        if len(page) < size:
            return counts
        last = list(page)[-1]


def _by_subject(
    ask: Counts, where: Pattern, predicate: str, total: int, most: int
) -> Iterator[Part]:
    """Parts of one predicate, a page of subjects at a time."""
    seen, last = 0, _FIRST
    size = _page_size(most)
    given: dict[str, queries.Value] = {"where": where, "predicate": predicate}
    while True:
        counts = ask(_bound("_count_by_subject", **given, after=last, most=size))
        small = {s: n for s, n in counts.items() if n <= most}
        for subjects, count in _packed(small.items(), most):
            yield Part(_pattern("_pattern_subjects", **given, subjects=subjects), count)
        for subject in counts.keys() - small.keys():
            yield from _of_subject(ask, {**given, "subject": subject}, counts[subject], most)
        seen += sum(counts.values())
        if len(counts) < size:
            break
        last = list(counts)[-1]
    blank = _pattern("_pattern_blank_subjects", **given)
    yield from _rest(ask, blank, total - seen, most)


def _of_subject(
    ask: Counts, given: dict[str, queries.Value], total: int, most: int
) -> Iterator[Part]:
    """Parts of one subject and predicate; some stores have no hash of a blank node."""
    named, blank = (_pattern("_pattern_subject", **given, blank=blank) for blank in (0, 1))
    count = _count(ask, named)
    yield from _rest(ask, named, count, most)
    yield from _rest(ask, blank, total - count, most)


def _rest(ask: Counts, where: Pattern, expected: int, most: int) -> Iterator[Part]:
    """Parts of what no names tell apart; it must be exactly what is missing."""
    if not expected:
        return
    if _count(ask, where) != expected:
        raise TransientStoreError("the counts of its parts do not add up")
    if expected > most:
        yield from _by_hash(ask, where, expected, most)
    else:
        yield Part(where, expected)


def _by_hash(ask: Counts, where: Pattern, total: int, most: int, digits: int = 1) -> Iterator[Part]:
    """Parts by one digit more of a hash, until they are small enough."""
    counts = ask(_bound("_count_by_hash", where=where, digits=digits))
    counts.pop("", None)  # what has no hash
    if sum(counts.values()) != total or digits > _MOST_DIGITS:
        raise PermanentStoreError(
            f"{total:,} triples are more than an answer may have rows, and cannot be told apart "
            "by a hash; leave them out by a scope"
        )
    small = {start: n for start, n in counts.items() if n <= most}
    for starts, count in _packed(small.items(), most):
        yield Part(_pattern("_pattern_hashes", where=where, digits=digits, starts=starts), count)
    for start in counts.keys() - small.keys():
        inner = _pattern("_pattern_hashes", where=where, digits=digits, starts=[start])
        yield from _by_hash(ask, inner, counts[start], most, digits + 1)


def _page_size(most: int) -> int:
    """How many names to ask for; exactly at the limit an answer looks like one that was cut."""
    return max(1, min(most - 1, _PAGE))


def _packed(counts: Iterable[tuple[str, int]], most: int) -> Iterator[tuple[list[str], int]]:
    """As many as fit together, one after the other."""
    chosen: list[str] = []
    size = 0
    for name, count in counts:
        if chosen and (size + count > most or len(chosen) == _VALUES):
            yield chosen, size
            chosen, size = [], 0
        chosen.append(name)
        size += count
    if chosen:
        yield chosen, size


def _count(ask: Counts, where: Pattern) -> int:
    return only_count(ask(_bound("_count", where=where)))


def only_count(counts: dict[str, int]) -> int:
    """The count of an answer that has no names.

    Raises:
        TransientStoreError: It has none.
    """
    if counts.keys() != {""}:
        raise TransientStoreError("the answer to a count is no count")
    return counts[""]


def _bound(name: str, **values: queries.Value) -> str:
    with _named_terms():
        return queries.load(name).bind(**values)


def _pattern(name: str, **values: queries.Value) -> Pattern:
    with _named_terms():
        return queries.load(name).pattern(**values)


@contextmanager
def _named_terms() -> Iterator[None]:
    """Says why a term that the endpoint sent has to be sent back to it."""
    try:
        yield
    except ConfigError as error:
        raise PermanentStoreError(
            f"the endpoint's limit on rows calls for naming terms in queries: {error}"
        ) from None

"""Split a graph into parts that fit an endpoint's row limit, by counting first.

By predicate; a predicate that is too large by its subjects; what is too large for one subject, or
has blank nodes as subjects, by a hash of its triples. The counts must add up to the whole:
nothing may fall between two parts. A term that cannot stand in a query, because it is not an IRI or
because the endpoint refuses it, is told from the others by its hash instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kgsync import queries
from kgsync.adapters.sparql.dialects import NAMES_PER_PAGE, VALUES_PER_QUERY
from kgsync.errors import PermanentStoreError, TransientStoreError
from kgsync.graph.edge_hash import md5_of
from kgsync.queries import Pattern, is_iri, is_plain_iri

__all__ = ["Part", "only_count", "packed", "parts_of"]

Counts = Callable[[str], dict[str, int]]
"""Requests counts by name; a single count has the empty name."""

_FIRST = "A:"
"""Before every IRI."""
_MOST_DIGITS = 12
"""Of a hash: what has more in common is the same text."""
_TRIES = 3
"""How many names of a page are tried as the start of the next page."""


@dataclass(frozen=True)
class Part:
    """Some triples of a graph, and how many there are."""

    where: Pattern
    count: int
    otherwise: Part | None = None
    """The same triples by hashes, for an endpoint that rejects a query with the terms."""


@dataclass(frozen=True)
class _Cut:
    """How a graph is split."""

    ask: Counts
    most: int
    """Maximum rows per part."""
    moving: bool
    """Whether others change the graph meanwhile, so that counts need not add up."""

    @property
    def page(self) -> int:
        """How many names to request; a result of exactly the limit would look truncated."""
        return max(1, min(self.most - 1, NAMES_PER_PAGE))

    def count(self, where: Pattern) -> int:
        """Number of triples."""
        return only_count(self.ask(queries.load("_count").bind(where=where)))

    def agree(self, found: int, expected: int, what: str) -> None:
        """Check that two counts of the same triples agree.

        Raises:
            TransientStoreError: They are not, and the graph should be at rest.
        """
        if found != expected and not self.moving:
            raise TransientStoreError(f"the counts of its {what} do not add up to the total")


def parts_of(
    ask: Counts,
    where: Pattern,
    total: int,
    most: int,
    *,
    largest: int | None = None,
    moving: bool = False,
) -> Iterator[Part]:
    """Parts that together are the whole.

    Args:
        ask: Requests counts from the endpoint.
        where: The triples.
        total: How many they are.
        most: How many rows a part may have.
        largest: How many a predicate may have that is not cut by its subjects, which takes many
            more requests; `most` if not given.
        moving: Others change them meanwhile. What is there throughout is in one of the parts all
            the same, because its predicate, subject or hash is there whenever it is asked for.

    Raises:
        TransientStoreError: The counts do not add up; the graph may be changing.
        PermanentStoreError: The graph cannot be split finely enough.
    """
    cut = _Cut(ask, most, moving)
    counts = _by_predicate(cut, where, total)
    if counts is None:
        yield from _rest(cut, where, total)
        return
    cut.agree(sum(counts.values()), total, "predicates")
    named, hashed = _predicates(where)
    small = {p: n for p, n in counts.items() if n <= (largest or most)}
    yield from _by_names(small, most, named, hashed)
    for predicate in counts.keys() - small.keys():
        unnamed = hashed([predicate])
        if is_iri(predicate):
            yield from _by_subject(cut, where, predicate, unnamed, counts[predicate])
        else:
            yield from _rest(cut, unnamed, counts[predicate])


def _by_predicate(cut: _Cut, where: Pattern, total: int) -> dict[str, int] | None:
    """The counts of all predicates, in pages if there are that many; None if too few are IRIs."""
    if not cut.moving:
        counts = cut.ask(queries.load("_count_by_predicate").bind(where=where, most=cut.page))
        if len(counts) < cut.page:
            return counts
    counts = {}
    for page, left_after in _pages(cut, "_count_by_predicate_after", {"where": where}):
        counts |= page
        if left_after is not None:
            return None
        if sum(counts.values()) > total and not cut.moving:
            break
    return counts


def _by_subject(
    cut: _Cut, where: Pattern, predicate: str, unnamed: Pattern, total: int
) -> Iterator[Part]:
    """Parts of one predicate, a page of subjects at a time.

    Args:
        cut: How to cut.
        where: The triples of all predicates.
        predicate: Which one.
        unnamed: Its triples, without naming it.
        total: How many they are.
    """
    most, seen = cut.most, 0
    given: dict[str, queries.Value] = {"where": where, "predicate": predicate}
    own = _bound("_pattern_predicates", where=where, predicates=[predicate])
    try:
        cut.agree(cut.count(own), total, "parts")
    except PermanentStoreError:  # the endpoint rejects its name
        yield from _rest(cut, unnamed, total)
        return
    named, hashed = _subjects(own)
    for counts, left_after in _pages(cut, "_count_by_subject", given):
        small = {s: n for s, n in counts.items() if n <= most}
        yield from _by_names(small, most, named, hashed)
        for subject in counts.keys() - small.keys():
            ways = [hashed([subject])]
            if is_iri(subject):
                ways.insert(0, named([subject]))
            yield from _rest(cut, ways[0], counts[subject], *ways[1:])
        seen += sum(counts.values())
        if left_after is not None:
            left = _bound("_pattern_subjects_after", where=own, after=left_after)
            count = cut.count(left)
            yield from _rest(cut, left, count)
            seen += count
        cut.agree(max(seen, total), total, "parts")
    blank = _bound("_pattern_blank_subjects", **given)
    yield from _rest(cut, blank, total - seen)


def _pages(
    cut: _Cut, query: str, given: dict[str, queries.Value]
) -> Iterator[tuple[dict[str, int], str | None]]:
    """Names and counts, a page at a time, in the order of the names.

    A page ends with a name that the endpoint takes back as the one to go on from.

    Returns:
        With every page None, or, with the last one, a name: all after it are left out, as none of
        a whole page could be gone on from.
    """
    after = _FIRST
    page = _page(cut, query, given, after)
    # Where counts need not add up, only an empty page shows that none was cut.
    while len(page) >= cut.page or (cut.moving and page):
        names = list(page)
        for name in _to_go_on_from(names):
            try:
                following = _page(cut, query, given, name)
            except PermanentStoreError:
                continue
            break
        else:
            yield {}, after
            return
        if name == after:
            raise TransientStoreError("the same page of results arrived twice")
        yield {one: page[one] for one in names[: names.index(name) + 1]}, None
        after, page = name, following
    yield page, None


def _page(cut: _Cut, query: str, given: dict[str, queries.Value], after: str) -> dict[str, int]:
    return cut.ask(queries.load(query).bind(**given, after=after, most=cut.page))


def _to_go_on_from(names: list[str]) -> list[str]:
    """The last names of a page that can stand in a query; rather such as no endpoint refuses."""
    last = [name for name in reversed(names) if is_iri(name)]
    return ([name for name in last if is_plain_iri(name)] or last)[:_TRIES]


# -- names -----------------------------------------------------------------------------------------

_Bind = Callable[[list[str]], Pattern]


def _predicates(where: Pattern) -> tuple[_Bind, _Bind]:
    """The triples with some predicates: naming them, and by their hashes."""
    return (
        lambda names: _bound("_pattern_predicates", where=where, predicates=names),
        lambda names: _bound("_pattern_predicate_digests", where=where, digests=_digests(names)),
    )


def _subjects(where: Pattern) -> tuple[_Bind, _Bind]:
    """The same of subjects."""
    return (
        lambda names: _bound("_pattern_subjects", where=where, subjects=names),
        lambda names: _bound("_pattern_subject_digests", where=where, digests=_digests(names)),
    )


def _by_names(counts: dict[str, int], most: int, named: _Bind, hashed: _Bind) -> Iterator[Part]:
    """Parts of several terms each; those that a parser may refuse are not with the others."""
    plain = {name: n for name, n in counts.items() if is_plain_iri(name)}
    doubtful = {name: n for name, n in counts.items() if name not in plain and is_iri(name)}
    for group in (plain, doubtful):
        for names, count in packed(group.items(), most):
            yield Part(named(names), count, Part(hashed(names), count))
    others = {name: n for name, n in counts.items() if not is_iri(name)}
    for names, count in packed(others.items(), most):
        yield Part(hashed(names), count)


def _digests(names: list[str]) -> list[str]:
    return [md5_of(name) for name in names]


# -- hashes ----------------------------------------------------------------------------------------


def _rest(
    cut: _Cut, where: Pattern, expected: int, otherwise: Pattern | None = None
) -> Iterator[Part]:
    """Parts of what no names tell apart; it must be exactly what is missing."""
    if not expected and not cut.moving:
        return
    try:
        counted = cut.count(where)
    except PermanentStoreError:
        if otherwise is None:
            raise
        yield from _rest(cut, otherwise, expected)
        return
    cut.agree(counted, expected, "parts")
    if counted > cut.most:
        yield from _by_hash(cut, where, counted)
    elif counted:
        yield Part(where, counted)


def _by_hash(cut: _Cut, where: Pattern, total: int, digits: int = 1) -> Iterator[Part]:
    """Parts by one digit more of a hash, until they are small enough."""
    most = cut.most
    counts = cut.ask(queries.load("_count_by_hash").bind(where=where, digits=digits))
    cut.agree(sum(counts.values()), total, "hashes")
    # Some stores have no hash of a blank node.
    if digits > _MOST_DIGITS or counts.get("", 0) > most:
        raise PermanentStoreError(
            f"{counts.get('') or total:,} triples exceed the endpoint's row limit and "
            "cannot be split by a hash; exclude them with a scope"
        )
    small = {start: n for start, n in counts.items() if n <= most}
    for starts, count in packed(small.items(), most):
        yield Part(_bound("_pattern_hashes", where=where, digits=digits, starts=starts), count)
    for start in counts.keys() - small.keys():
        inner = _bound("_pattern_hashes", where=where, digits=digits, starts=[start])
        yield from _by_hash(cut, inner, counts[start], digits + 1)


def packed(
    counts: Iterable[tuple[str, int]], most: int, longest: int = VALUES_PER_QUERY
) -> Iterator[tuple[list[str], int]]:
    """As many names as fit together, one group after the other: so many rows and names at most."""
    chosen: list[str] = []
    size = 0
    for name, count in counts:
        if chosen and (size + count > most or len(chosen) == longest):
            yield chosen, size
            chosen, size = [], 0
        chosen.append(name)
        size += count
    if chosen:
        yield chosen, size


def only_count(counts: dict[str, int]) -> int:
    """The count of a result without names.

    Raises:
        TransientStoreError: The result has no count.
    """
    if counts.keys() != {""}:
        raise TransientStoreError("malformed COUNT response")
    return counts[""]


def _bound(name: str, **values: queries.Value) -> Pattern:
    return queries.load(name).pattern(**values)

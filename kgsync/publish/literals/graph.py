"""One named graph of vector literals: written in parts that may be repeated, then verified.

The graph is linked only when it is complete, so readers never see a half-written one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgsync import queries
from kgsync.errors import PermanentStoreError
from kgsync.graph.port import GraphStore
from kgsync.publish.literals.content import KINDS, Changes, Content, Names
from kgsync.publish.literals.datatypes import encode, ntriples
from kgsync.publish.literals.halving import Halving

__all__ = ["LiteralGraph"]

_INSERTED, _NAMED = 5000, 1000
"""Literals in one insertion, which the adapter may divide; elements named in one query."""
_NUMBERS = 2_000_000
"""Maximum numbers in one insertion: vectors may be long."""
_SAMPLED, _SAMPLED_NUMBERS = 50, 100_000


@dataclass(frozen=True)
class LiteralGraph:
    """A graph of literals in a store."""

    graph: str
    owner: str
    """UUID of the state that writes here."""
    datatype: str
    """Name in `DATATYPES`."""

    def claim(self, store: GraphStore) -> None:
        """Make sure that the graph is ours, and mark it before anything goes into it.

        Raises:
            PermanentStoreError: It holds what this state did not write.
        """
        owners = self._owners(store)
        if owners == [self.owner]:
            return
        if owners or store.select(queries.load("_has_triples").bind(graph=self.graph)):
            raise PermanentStoreError(
                f"<{self.graph}> in {store.label} holds triples that this sync did not write; "
                "nothing was changed: set publish.graph to another name"
            )
        store.update(queries.load("_mark_graph").bind(graph=self.graph, owner=self.owner))
        if self._owners(store) != [self.owner]:
            store.update(queries.load("_unmark_graph").bind(graph=self.graph, owner=self.owner))
            raise PermanentStoreError(
                f"another sync has started to use <{self.graph}> in {store.label}; give "
                "each sync a publish.graph of its own"
            )

    def drop(self, store: GraphStore) -> None:
        """Remove the graph, if it is ours."""
        if self._owners(store) == [self.owner]:
            store.update(queries.load("_drop_graph").bind(graph=self.graph))

    def write(
        self,
        store: GraphStore,
        new: Content,
        changes: dict[str, Changes],
        begun: tuple[int, Names],
        note: Callable[[int, Names], None],
    ) -> tuple[int, Names]:
        """Apply the changes part by part; meanwhile the graph counts as incomplete.

        Args:
            store: Where.
            new: The content to reach.
            changes: What to do.
            begun: How many parts were done before an interruption, and which elements the store
                had refused to take.
            note: Called with both after each part.

        Returns:
            How many parts there are, and which elements were refused.

        Raises:
            PermanentStoreError: The store refuses more than single elements.
        """
        self._touch(store)
        halving = Halving(partial(self._touch, store))
        done, refused = begun
        number = 0
        for number, (kind, iris, send) in enumerate(self._parts(store, new, changes), start=1):
            if number > done:
                names = iris.to_pylist()
                found = [names[position] for position in halving.sent(names, send)]
                refused = {**refused, kind: [*refused.get(kind, []), *found]} if found else refused
                note(number, refused)
        return number, refused

    def _touch(self, store: GraphStore) -> None:
        store.update(queries.load("_begin_copy").bind(graph=self.graph))

    def _parts(
        self, store: GraphStore, new: Content, changes: dict[str, Changes]
    ) -> Iterator[tuple[str, Any, Callable[[list[int]], None]]]:
        """For every part its kind, its elements, and what sends those at some positions."""
        for kind, change in changes.items():
            for iris in (change.replaced, change.removed):
                for start in range(0, len(iris), _NAMED):
                    some = iris[start : start + _NAMED]
                    yield kind, some, partial(self._remove, store, kind, some)
        for kind, change in changes.items():
            width = max(1, new.tables[kind].shape[1])
            step = max(1, min(_INSERTED, _NUMBERS // width))
            for start in range(0, len(change.written), step):
                rows = change.written[start : start + step]
                iris = new.iris[kind].take(pa.array(rows))
                yield kind, iris, partial(self._insert, store, new, kind, rows)

    def _remove(self, store: GraphStore, kind: str, iris: Any, positions: list[int]) -> None:
        some = iris.take(pa.array(positions)).to_pylist()
        remove = queries.load("_remove_vectors")
        store.update(remove.bind(graph=self.graph, property=KINDS[kind], elements=some))

    def _insert(
        self,
        store: GraphStore,
        new: Content,
        kind: str,
        rows: NDArray[np.int64],
        positions: list[int],
    ) -> None:
        chosen = rows[positions]
        iris = new.iris[kind].take(pa.array(chosen))
        table = new.tables[kind][chosen]
        store.insert(self.graph, ntriples(iris, KINDS[kind], table, self.datatype))

    def finish(self, store: GraphStore, digest: str) -> None:
        """Note in the graph what it is a complete copy of."""
        store.update(queries.load("_finish_copy").bind(graph=self.graph, digest=digest))

    def is_copy_of(self, store: GraphStore, digest: str) -> bool:
        """Whether the graph is ours and is marked as a complete copy of this."""
        rows = store.select(queries.load("_copy_of").bind(graph=self.graph))
        found = [tuple(term and term.value for term in row) for row in rows]
        return found == [(self.owner, digest)]

    def has_rows(self, store: GraphStore, rows: dict[str, int]) -> bool:
        """Whether the graph holds this many literals of each kind."""
        return self._counts(store) == rows

    def problem(self, store: GraphStore, content: Content) -> str | None:
        """What is wrong with the graph: checks the counts, and a sample of literals bit by bit."""
        counts = self._counts(store)
        wanted = {kind: len(content.iris[kind]) for kind in KINDS}
        if counts != wanted:
            return (
                f"<{self.graph}> in {store.label} holds {counts['entity']:,} and "
                f"{counts['relation']:,} vectors of entities and relations, not "
                f"{wanted['entity']:,} and {wanted['relation']:,}"
            )
        random = np.random.default_rng(0)
        for kind, property_ in KINDS.items():
            width = max(1, content.tables[kind].shape[1])
            size = min(wanted[kind], _SAMPLED, max(1, _SAMPLED_NUMBERS // width))
            if not size:
                continue
            rows = np.sort(random.choice(wanted[kind], size, replace=False))
            iris = content.iris[kind].take(pa.array(rows)).to_pylist()
            expected = encode(content.tables[kind][rows], self.datatype).to_pylist()
            found = self._vectors(store, property_, iris)
            pairs = zip(iris, expected, strict=True)
            different = [i for i, text in pairs if found.get(i, "") not in (text, None)]
            if different:
                return (
                    f"the vector of <{different[0]}> in <{self.graph}> of {store.label} is not "
                    f"what was written ({len(different)} of {len(iris)} that were looked at)"
                )
        return None

    def _vectors(self, store: GraphStore, property_: str, iris: list[str]) -> dict[str, str | None]:
        """The literals of some elements; None where the store refuses to have one named."""
        found: dict[str, str | None] = {}

        def ask(positions: list[int]) -> None:
            some = [iris[position] for position in positions]
            query = queries.load("_some_vectors")
            rows = store.select(query.bind(graph=self.graph, property=property_, elements=some))
            found.update((a.value, b.value) for a, b in rows if a and b)

        refused = Halving(partial(self._touch, store)).sent(iris, ask)
        return {**found, **{iris[position]: None for position in refused}}

    def _owners(self, store: GraphStore) -> list[str]:
        rows = store.select(queries.load("_owner").bind(graph=self.graph))
        return [row[0].value for row in rows if row[0] is not None]

    def _counts(self, store: GraphStore) -> dict[str, int]:
        rows = store.select(queries.load("_vector_counts").bind(graph=self.graph))
        found = {a.value: int(b.value) for a, b in rows if a and b}
        return {kind: found.get(property_, 0) for kind, property_ in KINDS.items()}

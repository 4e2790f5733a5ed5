"""The change between two versions (the paper's definition_change), including the split."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgsync.errors import KgsyncError
from kgsync.graph.active import are_among
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.split import Part, Parts, Splitter
from kgsync.graph.terms import Ids, TermIndex, TermTable

__all__ = ["ChangeCounts", "ChangeSet"]


@dataclass(frozen=True)
class ChangeCounts:
    """Sizes of the six sets of a change; edges also by part, in the order of `Part`."""

    added_triples: tuple[int, int, int]
    deleted_triples: tuple[int, int, int]
    added_entities: int
    deleted_entities: int
    added_relations: int
    deleted_relations: int

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ChangeCounts:
        """Counts from plain values, in which tuples have become lists."""
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
        }
        return cls(**values)

    def rows(self) -> list[tuple[str, int, int]]:
        """What, added, deleted: one row each, for tables."""
        rows = [("triples", sum(self.added_triples), sum(self.deleted_triples))]
        for part in Part:
            added, deleted = self.added_triples[part], self.deleted_triples[part]
            rows.append((f"  {part.name.lower()}", added, deleted))
        rows.append(("entities", self.added_entities, self.deleted_entities))
        rows.append(("relations", self.added_relations, self.deleted_relations))
        return rows

    def __str__(self) -> str:
        lines = [f"{'':14}{'added':>12}{'deleted':>12}"]
        lines += [f"{what:14}{added:>12,}{deleted:>12,}" for what, added, deleted in self.rows()]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class ChangeSet:
    """ΔE±, ΔV±, ΔR± between two versions over one term index."""

    added_triples: Snapshot
    deleted_triples: Snapshot
    added_parts: Parts
    """Part of each added triple."""
    deleted_parts: Parts
    added_entities: Ids
    deleted_entities: Ids
    added_relations: Ids
    deleted_relations: Ids

    @classmethod
    def between(
        cls, old: Snapshot, new: Snapshot, terms: TermIndex, splitter: Splitter
    ) -> ChangeSet:
        """The change that leads from `old` to `new`."""
        edges = new.minus(old), old.minus(new)
        return cls.known(edges, (old, new), terms, splitter)

    @classmethod
    def known(
        cls,
        edges: tuple[Snapshot, Snapshot],
        versions: tuple[Snapshot, Snapshot],
        terms: TermIndex,
        splitter: Splitter,
    ) -> ChangeSet:
        """The change whose edges are known.

        Args:
            edges: Those that were added and deleted.
            versions: The older and the newer version.
            terms: Ids of both.
            splitter: Tells the part of an edge.
        """
        added, deleted = edges
        old, new = versions
        # A new element occurs in a new edge, so the other edges need not be checked.
        return cls(
            added,
            deleted,
            splitter.parts(added, terms),
            splitter.parts(deleted, terms),
            _minus(added.entities, old.entities),
            _minus(deleted.entities, new.entities),
            _minus(added.relation_ids, old.relation_ids),
            _minus(deleted.relation_ids, new.relation_ids),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangeSet) and all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
            for a, b in zip(vars(self).values(), vars(other).values(), strict=True)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside

    def __bool__(self) -> bool:
        return bool(len(self.added_triples) or len(self.deleted_triples))

    def __str__(self) -> str:
        return str(self.counts())

    def apply(self, old: Snapshot) -> Snapshot:
        """The version this change leads to.

        Raises:
            KgsyncError: The change does not belong to `old`.
        """
        if len(self.deleted_triples.minus(old)) or len(self.added_triples.minus(old)) != len(
            self.added_triples
        ):
            raise KgsyncError("this change set does not belong to this snapshot")
        return old.minus(self.deleted_triples).plus(self.added_triples)

    def inverse(self) -> ChangeSet:
        """The reverse change."""
        return ChangeSet(
            self.deleted_triples,
            self.added_triples,
            self.deleted_parts,
            self.added_parts,
            self.deleted_entities,
            self.added_entities,
            self.deleted_relations,
            self.added_relations,
        )

    def part(self, part: Part) -> tuple[Snapshot, Snapshot]:
        """Added and deleted triples of one part: ΔE⁺ and ΔE⁻ with the paper's index S, W or T."""
        return (
            self.added_triples.where(self.added_parts == part),
            self.deleted_triples.where(self.deleted_parts == part),
        )

    def counts(self) -> ChangeCounts:
        """Sizes of all six sets."""
        return ChangeCounts(
            _by_part(self.added_parts),
            _by_part(self.deleted_parts),
            len(self.added_entities),
            len(self.deleted_entities),
            len(self.added_relations),
            len(self.deleted_relations),
        )

    def to_table(self, terms: TermIndex) -> Any:
        """An Arrow table: `change`, `kind`, `head` (or the IRI), `relation`, `tail`, `part`."""
        blocks = [
            _triples("added", self.added_triples, self.added_parts, terms),
            _triples("deleted", self.deleted_triples, self.deleted_parts, terms),
            _elements("added", "entity", terms.entities.names(self.added_entities)),
            _elements("deleted", "entity", terms.entities.names(self.deleted_entities)),
            _elements("added", "relation", terms.relations.names(self.added_relations)),
            _elements("deleted", "relation", terms.relations.names(self.deleted_relations)),
        ]
        return pa.concat_tables(blocks)

    def save(self, path: Path | str, terms: TermIndex) -> None:
        """Write the change as one Parquet file, keyed by IRI."""
        pq.write_table(self.to_table(terms), path, compression="zstd")

    @classmethod
    def load(cls, path: Path | str, terms: TermIndex) -> ChangeSet:
        """Read a saved change over an index that knows its terms.

        Raises:
            KgsyncError: A term of the change is not in the index.
        """
        table = pq.read_table(path)

        def rows(change: str, kind: str) -> Any:
            return table.filter(
                (pa.compute.field("change") == change) & (pa.compute.field("kind") == kind)
            )

        def ids(column: Any, known: TermTable) -> Ids:
            found = known.ids(column.combine_chunks())
            if (found < 0).any():
                raise KgsyncError(f"{path} contains terms that are not in this term index")
            return found

        def triples(change: str) -> tuple[Snapshot, Parts]:
            block = rows(change, "triple")
            columns = Snapshot(
                ids(block["head"], terms.entities),
                ids(block["relation"], terms.relations),
                ids(block["tail"], terms.entities),
            )
            order = np.argsort(columns.keys(columns.layout), kind="stable")
            parts = block["part"].to_numpy().astype(np.uint8)
            return Snapshot(*(column[order] for column in columns.columns)), parts[order]

        def elements(change: str, kind: str, known: TermTable) -> Ids:
            return np.sort(ids(rows(change, kind)["head"], known))

        added, added_parts = triples("added")
        deleted, deleted_parts = triples("deleted")
        return cls(
            added,
            deleted,
            added_parts,
            deleted_parts,
            elements("added", "entity", terms.entities),
            elements("deleted", "entity", terms.entities),
            elements("added", "relation", terms.relations),
            elements("deleted", "relation", terms.relations),
        )


_SCHEMA = pa.schema(
    [
        ("change", pa.string()),
        ("kind", pa.string()),
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("part", pa.uint8()),
    ]
)


def _triples(change: str, triples: Snapshot, parts: Parts, terms: TermIndex) -> Any:
    size = len(triples)
    columns = [
        pa.repeat(change, size),
        pa.repeat("triple", size),
        terms.entities.names(triples.heads),
        terms.relations.names(triples.relations),
        terms.entities.names(triples.tails),
        pa.array(parts),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _elements(change: str, kind: str, iris: Any) -> Any:
    size = len(iris)
    none = pa.nulls(size, pa.string())
    columns = [
        pa.repeat(change, size),
        pa.repeat(kind, size),
        iris,
        none,
        none,
        pa.nulls(size, pa.uint8()),
    ]
    return pa.Table.from_arrays(columns, schema=_SCHEMA)


def _minus(ids: Ids, others: Ids) -> Ids:
    """Sorted ids that are not among other sorted ids."""
    return ids[~are_among(ids, others)]


def _by_part(parts: Parts) -> tuple[int, int, int]:
    train, validation, test = np.bincount(parts, minlength=len(Part)).tolist()
    return train, validation, test

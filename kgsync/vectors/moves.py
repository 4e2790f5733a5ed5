"""How far and why an element moved, version by version, from the records of a state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from kgsync.errors import ConfigError, UnknownTermError
from kgsync.graph.terms import TermIndex
from kgsync.state.committed import CommittedVersion
from kgsync.state.directory import State
from kgsync.state.moves import Moves, Record, line_of

if TYPE_CHECKING:
    from kgsync.models.base import Kind

__all__ = ["Move", "Triple", "moves_of"]

Triple = tuple[str, str, str]
"""IRIs of head, relation and tail."""


@dataclass(frozen=True)
class Move:
    """What happened to one element in one version."""

    version: int
    previous: int | None
    graph_version: str
    created: str
    action: str
    """What the step did: "updated", "rebuilt" ..."""
    change: str | None
    """What happened to its vector: "added", "moved" or "deleted"; None if it stayed the same."""
    distance: float | None
    """Euclidean distance between the two vectors, if it has moved and they can be compared."""
    added: tuple[Triple, ...]
    """Triples that it gained; those of the first version are not recorded."""
    deleted: tuple[Triple, ...]
    """Triples that it lost."""
    quality: Mapping[str, float] | None
    """Link prediction of the version on its test triples."""


def moves_of(state: State, version: int, iri: str, kind: Kind = "entity") -> list[Move]:
    """What happened to an element in the versions up to one, oldest first.

    Args:
        state: The state.
        version: A version that still has its files: they resolve the ids.
        iri: The element.
        kind: "entity" or "relation".

    Raises:
        UnknownTermError: None of these versions has had it.
        ConfigError: The kind is unknown.
        StateError: The version has no files, or a file is damaged.
    """
    if kind not in ("entity", "relation"):
        raise ConfigError(f'kind must be "entity" or "relation", not {kind!r}')
    line = list(line_of(state, version))
    terms = CommittedVersion(line[0]).terms
    table = terms.entities if kind == "entity" else terms.relations
    id_ = table.id(iri)
    if id_ is None:
        other = "relation" if kind == "entity" else "entity"
        others = terms.relations if kind == "entity" else terms.entities
        hint = "" if others.id(iri) is None else f"; there is a {other}: add --kind {other}"
        raise UnknownTermError(
            f"there is no {kind} <{iri}> in version {version} or before it{hint}"
        )
    records, found = Moves(state.path), []
    for folder in reversed(line):
        record = records.read(folder.manifest)
        move = None if record is None else _move(record, terms, kind, id_)
        if move is not None:
            found.append(move)
    return found


def _move(record: Record, terms: TermIndex, kind: Kind, id_: int) -> Move | None:
    """What a record says about an element; None if nothing."""
    rows = record.rows
    is_triple = pc.equal(rows["kind"].cast("string"), "triple")
    if kind == "entity":
        meant = pc.or_(pc.equal(rows["id"], id_), pc.equal(rows["tail"].fill_null(-1), id_))
    else:
        meant = pc.equal(rows["relation"].fill_null(-1), id_)
    triples = rows.filter(pc.and_(is_triple, meant)).to_pylist()
    own = rows.filter(
        pc.and_(pc.equal(rows["kind"].cast("string"), kind), pc.equal(rows["id"], id_))
    ).to_pylist()
    if not own and not triples:
        return None
    about = record.about
    return Move(
        version=about["version"],
        previous=about["previous"],
        graph_version=about["graph_version"],
        created=about["created"],
        action=about["action"],
        change=own[0]["change"] if own else None,
        distance=own[0]["distance"] if own else None,
        added=_named(triples, "added", terms),
        deleted=_named(triples, "deleted", terms),
        quality=about["quality"],
    )


def _named(triples: list[dict[str, Any]], change: str, terms: TermIndex) -> tuple[Triple, ...]:
    name, relation = terms.entities.name, terms.relations.name
    return tuple(
        (name(each["id"]), relation(each["relation"]), name(each["tail"]))
        for each in triples
        if each["change"] == change
    )

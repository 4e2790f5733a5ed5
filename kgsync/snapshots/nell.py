"""NELL's export of its beliefs (`NELL.08m.*.esv.csv`), with the iteration of promotion as time."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from kgsync.errors import ConfigError
from kgsync.snapshots.facts import Facts
from kgsync.snapshots.iris import Naming
from kgsync.snapshots.layouts import Layout
from kgsync.snapshots.tables import numbered, read_table

__all__ = ["read_nell"]

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_CATEGORY = "generalizations"
_COLUMNS = ("Entity", "Relation", "Value", "Iteration of Promotion")


def read_nell(path: Path, naming: Naming) -> Facts:
    """Read NELL's beliefs; one that puts an entity into a category becomes an `rdf:type` triple.

    Raises:
        ConfigError: The file is missing or malformed, or there are no facts.
    """
    table = read_table(path, Layout(_COLUMNS, header=True))
    entity, relation, value, iteration = (table[name] for name in _COLUMNS)
    (heads, tails), names = numbered(entity, value)
    (predicates,), relations = numbered(relation)
    (iterations,), texts = numbered(iteration)
    relations = pc.utf8_trim_whitespace(relations)
    relation_iris = pc.if_else(
        pc.equal(relations, _CATEGORY), RDF_TYPE, naming.relations(relations)
    )
    entity_iris = naming.entities(pc.utf8_trim_whitespace(names))
    moments = np.array([_iteration(text) for text in texts.to_pylist()], np.int64)
    wrong = np.flatnonzero(moments[iterations] < 0)
    if len(wrong):
        raise ConfigError(
            f"{path}, line {wrong[0] + 2}: the {_COLUMNS[3]} is not a number: "
            f"{texts[int(iterations[wrong[0]])].as_py()!r}"
        )
    return Facts.of(entity_iris, relation_iris, (heads, predicates, tails), moments[iterations])


def _iteration(text: str) -> int:
    """A number, or the first of several as in `[718, 720]`; -1 for anything else."""
    match = re.match(r"\s*\[?\s*(\d+)", text)
    return int(match[1]) if match else -1

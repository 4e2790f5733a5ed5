"""What every scoring model has: tables of vectors with growable rows, a score, a loss.

A table holds one vector per living entity or relation; row i belongs to the i-th living element in
id order. `Rows` are gathered vectors, by table name, so that a model with several tables per
element (normals, projections) fits the same training code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from kgsync.models import MODELS, ModelInfo
from kgsync.models.losses import Loss
from kgsync.models.settings import ModelSettings

__all__ = ["Kind", "Model", "Rows", "TableSpec"]

Kind = Literal["entity", "relation"]
Rows: TypeAlias = dict[str, Tensor]

_ROUNDING = 1e-6


@dataclass(frozen=True)
class TableSpec:
    """One table of a model: what its rows stand for and how wide they are."""

    kind: Kind
    width: int
    unit: bool = False
    """Whether only the direction of a row means something."""


class Model(ABC):
    """A scoring model with its parameters."""

    def __init__(self, settings: ModelSettings, tables: Rows) -> None:
        """Take over tables that fit `layout(settings)`."""
        self.settings = settings
        self.tables = tables

    @classmethod
    @abstractmethod
    def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
        """The tables of the model. "entity" and "relation" hold the published vectors."""

    @abstractmethod
    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """f_r(h, t) of triples whose rows are given, one score a row; higher is more plausible."""

    @abstractmethod
    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """Scores (queries x candidates) of every candidate as the tail."""

    @abstractmethod
    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Tensor:
        """Scores (queries x candidates) of every candidate as the head."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What training makes small."""

    def penalty(self, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
        """Penalty over a batch's true and false triples, if the model has one."""
        return None

    def constraint(self, relations: Rows) -> Tensor | None:
        """Soft constraint on the relations of a batch, each given once, if the model has one."""
        return None

    @classmethod
    def random(
        cls, settings: ModelSettings, entities: int, relations: int, generator: torch.Generator
    ) -> Model:
        """A model with Xavier-uniform vectors (alg. TDSM_offline, first lines)."""
        tables = {}
        for name, spec in cls.layout(settings).items():
            count = entities if spec.kind == "entity" else relations
            bound = (6.0 / (count + spec.width)) ** 0.5
            values = torch.rand(count, spec.width, generator=generator)
            tables[name] = values.mul_(2 * bound).sub_(bound)
        model = cls(settings, tables)
        model.normalize()
        return model

    @property
    def info(self) -> ModelInfo:
        """The paper's choices for this model."""
        return MODELS[self.settings.name]

    def normalize(self) -> None:
        """Bring the rows of which only the direction counts to length one, in place."""
        for name, spec in self.layout(self.settings).items():
            if spec.unit:
                table = self.tables[name]
                # Dividing again would move rows that have that length by a bit every time.
                off = (torch.linalg.vector_norm(table, dim=-1) - 1).abs() > _ROUNDING
                table[off] = functional.normalize(table[off], dim=-1)

    @property
    def sizes(self) -> dict[Kind, int]:
        """Number of entity rows and of relation rows."""
        return {"entity": len(self.tables["entity"]), "relation": len(self.tables["relation"])}

    def names(self, kind: Kind) -> list[str]:
        """The tables of one kind."""
        return [name for name, spec in self.layout(self.settings).items() if spec.kind == kind]

    def rows(self, kind: Kind, rows: Tensor | slice) -> Rows:
        """Vectors of some entities or relations."""
        return {name: self.tables[name][rows] for name in self.names(kind)}

    def copy_tables(self) -> Rows:
        """A copy of all parameters, to come back to."""
        return {name: table.clone() for name, table in self.tables.items()}

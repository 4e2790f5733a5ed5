"""What every scoring model has: tables of vectors with growable rows, a score, a loss.

A table holds one vector per active entity or relation; row i belongs to the i-th active element in
id order. `Rows` are gathered vectors, by table name, so that a model with several tables per
element (normals, projections) fits the same training code. Tables are torch tensors where a model
is trained, and numpy arrays where it is only read: scores work on both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from kgsync.models import MODELS
from kgsync.models.losses import LOSSES
from kgsync.models.parts.arrays import Array
from kgsync.models.settings import ModelSettings

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from kgsync.models.declaration import ModelDeclaration
    from kgsync.models.losses.declaration import Loss
    from kgsync.models.parts.places import Places

__all__ = ["Kind", "Model", "Rows", "TableSpec", "one_vector_each"]

Kind = Literal["entity", "relation"]
Rows: TypeAlias = "dict[str, Array]"

_ROUNDING = 1e-6


@dataclass(frozen=True)
class TableSpec:
    """One table of a model: what its rows stand for and how wide they are."""

    kind: Kind
    width: int
    unit: bool = False
    """Whether only the direction of a row is meaningful."""
    scales: bool = True
    """Whether scores keep their order if all tables that scale are made shorter alike."""


def one_vector_each(settings: ModelSettings) -> dict[str, TableSpec]:
    """The tables of a model with one vector per entity and per relation, all of one length."""
    width = settings.dimension
    return {"entity": TableSpec("entity", width), "relation": TableSpec("relation", width)}


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
    def score(self, head: Rows, relation: Rows, tail: Rows) -> Array:
        """f_r(h, t) of triples whose rows are given, one per row; higher is more plausible."""

    @abstractmethod
    def score_tails(self, head: Rows, relation: Rows, candidates: Rows) -> Array:
        """Scores (queries x candidates) of every candidate as the tail."""

    @abstractmethod
    def score_heads(self, tail: Rows, relation: Rows, candidates: Rows) -> Array:
        """Scores (queries x candidates) of every candidate as the head."""

    def constraint(self, relations: Rows) -> Tensor | None:
        """Soft constraint on the relations of a batch, each given once, if the model has one."""
        return None

    def places(
        self, kind: Kind, head: Rows, relation: Rows, tail: Rows, incoming: Tensor
    ) -> Places:
        """For each triple, the position of its new element where the triple holds exactly.

        Args:
            kind: Whether the relations are new, or the entities on one side.
            head: Vectors of the heads.
            relation: Those of the relations.
            tail: Those of the tails.
            incoming: For each triple, as a column, whether the tail is the new entity.

        Raises:
            NotImplementedError: The model declares no closed form for this kind.
        """
        raise NotImplementedError(f"{self.settings.name} has no closed form for a new {kind}")

    @classmethod
    def random(
        cls, settings: ModelSettings, entities: int, relations: int, generator: torch.Generator
    ) -> Model:
        """A model with Xavier-uniform vectors (alg. TDSM_offline, first lines)."""
        import torch

        tables = {}
        for name, spec in cls.layout(settings).items():
            count = entities if spec.kind == "entity" else relations
            bound = (6.0 / (count + spec.width)) ** 0.5
            values = torch.rand(count, spec.width, generator=generator)
            tables[name] = values.mul_(2 * bound).sub_(bound)
        model = cls(settings, tables)
        model.normalize()
        return model

    @cached_property
    def info(self) -> ModelDeclaration:
        """What the file of the model declares."""
        return MODELS[self.settings.name]

    @property
    def loss(self) -> Loss:
        """The training loss."""
        return LOSSES[self.info.loss].create(self.settings)

    @property
    def loss_is_sum(self) -> bool:
        """Whether the loss of a batch is a sum over its pairs, rather than a mean."""
        return LOSSES[self.info.loss].is_sum

    def penalty(self, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
        """L2 penalty on the mean squares of a batch's vectors (OpenKE), if the model has one."""
        if not self.info.has_penalty:
            return None
        parts = (head["entity"], relation["relation"], tail["entity"])
        total = sum((part.square().mean() for part in parts), start=parts[0].new_zeros(()))
        return self.settings.l2_penalty * total

    def normalize(self) -> None:
        """Normalise the rows of which only the direction is meaningful, in place."""
        import torch
        from torch.nn import functional

        for name, spec in self._specs.items():
            if spec.unit:
                table = self.tables[name]
                # Dividing again would move rows that have that length by a bit every time.
                off = (torch.linalg.vector_norm(table, dim=-1) - 1).abs() > _ROUNDING
                table[off] = functional.normalize(table[off], dim=-1)

    def shrink(self, share: float, entities: Array, relations: Array) -> None:
        """Make some rows of all tables that scale shorter, in place.

        Args:
            share: What is left of them.
            entities: For each entity, whether its rows are meant.
            relations: The same for relations.
        """
        for name, spec in self._specs.items():
            if spec.scales:
                rows = entities if spec.kind == "entity" else relations
                self.tables[name][rows] *= share

    @property
    def sizes(self) -> dict[Kind, int]:
        """Number of entity rows and of relation rows."""
        return {"entity": len(self.tables["entity"]), "relation": len(self.tables["relation"])}

    @cached_property
    def _specs(self) -> dict[str, TableSpec]:
        return self.layout(self.settings)

    def names(self, kind: Kind) -> list[str]:
        """The tables of one kind."""
        return [name for name, spec in self._specs.items() if spec.kind == kind]

    def rows(self, kind: Kind, rows: Array | slice) -> Rows:
        """Vectors of some entities or relations."""
        return {name: self.tables[name][rows] for name in self.names(kind)}

    def copy_tables(self) -> Rows:
        """A copy of all parameters of a model that is trained, to come back to."""
        return {name: table.clone() for name, table in self.tables.items()}

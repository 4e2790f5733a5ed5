"""ComplEx: vectors of complex numbers; it is ANALOGY without its scalar half."""

from __future__ import annotations

from kgsync.models.analogy import BLOCKS, Analogy, symmetry_of
from kgsync.models.declaration import ModelDeclaration

__all__ = ["MODEL", "ComplEx"]


class ComplEx(Analogy):
    """f_r(h, t) = Re⟨h, r, conj t⟩, equivalent to HolE."""

    scalar_share = 0.0


MODEL = ModelDeclaration(
    name="complex",
    title="ComplEx",
    model=ComplEx,
    loss="logistic",
    optimizer="adagrad",
    learning_rate=0.1,
    longer_is_likelier=True,
    divisor=2,
    has_penalty=True,
    symmetry=symmetry_of(ComplEx.scalar_share),
    kernels={**BLOCKS, "SCALAR_PARTS": 0},
)

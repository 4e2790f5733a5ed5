"""What the file of a literal datatype declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Table", "VectorDatatype"]

Table: TypeAlias = "NDArray[np.float32]"


@dataclass(frozen=True)
class VectorDatatype:
    """A datatype whose literals are vectors of 32-bit floats."""

    name: str
    """In the settings."""
    iri: str
    """One in the namespace `KGE` becomes a term of the vocabulary: `kgsync.config.vocabulary`."""
    help: str
    """In the help of the setting, after the name, and in the vocabulary; without a full stop."""
    encode: Callable[[Table, tuple[int, ...]], Any]
    """From finite vectors, one per row, and the shape of one, to an Arrow string array."""
    decode: Callable[[str], Table]
    """From a text to a vector; a ValueError if it is not one. The caller refuses infinity, NaN."""
    escaped: str = ""
    """Characters of the texts before which N-Triples writes a backslash; a backslash is first."""

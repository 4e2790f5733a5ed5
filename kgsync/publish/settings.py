"""The settings of publishing, `[publish]`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kgsync.graph.settings import EndpointSettings

__all__ = ["Datatype", "Literals", "PublishSettings"]

Literals = Literal["none", "versions", "rolling"]
Datatype = Literal["list", "tensor", "json", "base64"]


@dataclass(frozen=True)
class PublishSettings:
    """Where the metadata of every version goes, and whether vectors go there too."""

    metadata: bool = True
    literals: Literals = "none"
    """Vectors as literals in the store: "none", a graph for each of the last "versions", or
    "rolling": two graphs that take turns, in which only vectors that moved are replaced."""
    datatype: Datatype = "list"
    """Of the literals: a "list" (cdt:List), a "tensor" (rdf-tensor), "json" (rdf:JSON), or
    "base64" (xsd:base64Binary: 32-bit floats, little-endian)."""
    tolerance: float = 0.0
    """A rolling literal is replaced if its vector moved farther than this (Euclidean)."""
    keep: int = 2
    """How many versions keep their graph of literals."""
    base_url: str | None = None
    """Where the state directory is served; makes the addresses of the files in the metadata."""
    target: str | None = None
    """Store to publish into; the source where it can be written, else one inside the state."""
    graph: str | None = None
    """Named graph of the metadata; `urn:kgsync:<name>` if not set."""
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    """If the target is one."""

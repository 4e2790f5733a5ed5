"""The settings of publishing, `[publish]`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from kgsync.common.declare import Rule, part, setting
from kgsync.graph.settings import EndpointSettings

__all__ = ["Literals", "PublishSettings"]

Literals = Literal["none", "versions", "rolling"]


def _datatypes() -> Mapping[str, str]:
    from kgsync.publish.literals.datatypes import DATATYPES

    return {name: declared.help for name, declared in DATATYPES.items()}


@dataclass(frozen=True)
class PublishSettings:
    """Where the metadata of every version goes, and whether vectors go there too."""

    metadata: bool = setting(True, "Describe every version in the store.")
    literals: Literals = setting(
        "none",
        'Vectors as literals in the store: "none", one graph for each of the last "versions", or '
        '"rolling": two graphs in turn, in which only vectors that moved are replaced.',
    )
    datatype: str = setting("list", "Datatype of the literals.", choices=_datatypes)
    tolerance: float = setting(
        0.0,
        "Replace a rolling literal only if its vector moved farther than this (Euclidean).",
        at_least=0,
    )
    keep: int = setting(2, "Number of versions that keep their graph of literals.", at_least=2)
    base_url: str | None = setting(
        None,
        "URL under which the state directory is served, for the addresses of the files.",
        example="https://example.org/embeddings",
    )
    target: str | None = setting(
        None,
        "Store to publish into; if not set, the source if it can be written, else a store inside "
        "the state.",
        kind="store",
        example="metadata.oxigraph",
    )
    graph: str | None = setting(
        None,
        "Named graph of the metadata; urn:kgsync:<name of the state> if not set.",
        example="urn:kgsync:name",
    )
    endpoint: EndpointSettings = part(EndpointSettings, "If the target is an endpoint.")

    def rules(self) -> Iterator[Rule]:
        """What the bounds of the settings cannot say."""
        yield Rule(
            self.tolerance == 0 or self.literals == "rolling",
            ("tolerance", "literals"),
            "tolerance is for literals = 'rolling' only",
        )
        yield Rule(
            self.literals == "none" or self.metadata,
            ("literals", "metadata"),
            "literals need metadata = true, which says which version is current",
        )
        yield Rule(
            (self.base_url or "http://").startswith(("http://", "https://")),
            ("base_url",),
            "base_url must begin with http:// or https://",
        )

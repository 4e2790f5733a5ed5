"""IRIs for the names in raw data sets: one namespace, and nothing in them that IRIs exclude."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from kgsync import queries
from kgsync.errors import ConfigError

__all__ = ["Naming"]

# What a path segment of an IRI may hold, and the slash. The percent sign is encoded as well, so
# that no two names share an IRI.
_ENCODED = re.compile(r"[^A-Za-z0-9\-._~!$&'()*+,;=:@/\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF]")


@dataclass(frozen=True)
class Naming:
    """Where the IRIs of a data set live."""

    namespace: str = "http://example.org/"

    def __post_init__(self) -> None:
        queries.check_iri(self.namespace)
        if not self.namespace.endswith(("/", "#", ":")):
            object.__setattr__(self, "namespace", f"{self.namespace}/")

    @property
    def graphs(self) -> str:
        """The pattern of the versions' named graphs."""
        return f"{self.namespace}version/{{version}}"

    def entities(self, names: Any) -> Any:
        """IRIs of an Arrow array of entity names."""
        return self._iris("entity", names)

    def relations(self, names: Any) -> Any:
        """IRIs of an Arrow array of relation names."""
        return self._iris("relation", names)

    def _iris(self, kind: str, names: Any) -> Any:
        # "/m/02x" must not leave an empty path segment behind "entity/".
        local = pc.utf8_ltrim(names, characters="/")
        plain = pc.match_substring_regex(local, r"^[A-Za-z0-9\-._~:@/]*$")
        encoded = [
            _ENCODED.sub(_percent, name) for name in local.filter(pc.invert(plain)).to_pylist()
        ]
        local = pc.replace_with_mask(local, pc.invert(plain), pa.array(encoded, pa.string()))
        if len(pc.unique(local)) < len(pc.unique(names)):
            raise ConfigError(
                f"two {kind} names differ only in their leading slashes, so they would "
                "share one IRI; rename one of them"
            )
        return pc.binary_join_element_wise(f"{self.namespace}{kind}/", local, "")


def _percent(match: re.Match[str]) -> str:
    return quote(match[0], safe="")

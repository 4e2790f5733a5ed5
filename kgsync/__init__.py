"""Keep knowledge-graph embeddings in step with a live RDF store."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kgsync.common.software import VERSION

if TYPE_CHECKING:
    from kgsync.config import Settings, load_settings
    from kgsync.errors import KgsyncError
    from kgsync.graph.change import ChangeSet
    from kgsync.graph.endpoint import Endpoint
    from kgsync.graph.stores import open_store
    from kgsync.graph.table import Table
    from kgsync.service.status import Status
    from kgsync.state.report import Plan, StepReport
    from kgsync.sync import KGSync
    from kgsync.vectors.embeddings import Embeddings, load
    from kgsync.vectors.querying import rdflib_functions, sparql_functions

__version__ = VERSION

__all__ = [
    "ChangeSet",
    "Embeddings",
    "Endpoint",
    "KGSync",
    "KgsyncError",
    "Plan",
    "Settings",
    "Status",
    "StepReport",
    "Table",
    "load",
    "load_settings",
    "open_store",
    "rdflib_functions",
    "sparql_functions",
]

_HOMES = {
    "ChangeSet": "kgsync.graph.change",
    "Embeddings": "kgsync.vectors.embeddings",
    "Endpoint": "kgsync.graph.endpoint",
    "KGSync": "kgsync.sync",
    "KgsyncError": "kgsync.errors",
    "Plan": "kgsync.state.report",
    "Settings": "kgsync.config",
    "Status": "kgsync.service.status",
    "StepReport": "kgsync.state.report",
    "Table": "kgsync.graph.table",
    "load": "kgsync.vectors.embeddings",
    "load_settings": "kgsync.config",
    "open_store": "kgsync.graph.stores",
    "rdflib_functions": "kgsync.vectors.querying",
    "sparql_functions": "kgsync.vectors.querying",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that `import kgsync` is fast."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kgsync' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

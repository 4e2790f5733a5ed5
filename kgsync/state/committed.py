"""A version as training and reading need it: written into a folder, read back checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import safetensors.numpy

from kgsync.graph.living import Living
from kgsync.graph.snapshot import Snapshot
from kgsync.graph.terms import Ids, TermIndex, TermTable
from kgsync.models.settings import ModelSettings
from kgsync.state.directory import VersionFolder
from kgsync.state.manifest import Manifest
from kgsync.state.sidecar import TENSORS, Sidecar, read_tables, write_sidecar
from kgsync.state.tensors import write_tensors

if TYPE_CHECKING:
    from kgsync.models.base import Model
    from kgsync.models.scoring import Scorer

__all__ = ["CommittedVersion", "GraphData", "write_version"]

_TERMS, _EDGES = "graph/terms.parquet", "graph/edges.safetensors"


@dataclass(frozen=True)
class GraphData:
    """The graph side of a version."""

    terms: TermIndex
    edges: Snapshot
    """All edges of the version, before filters: the base of the next difference."""
    living: Living
    last_seen: dict[str, Ids]
    """"entity" and "relation" -> for each id the last embedding version it lived in."""


@dataclass(frozen=True)
class CommittedVersion:
    """One version in the state; its parts are loaded and checked when first asked for."""

    folder: VersionFolder

    @property
    def manifest(self) -> Manifest:
        """What the version is."""
        return self.folder.manifest

    @cached_property
    def graph(self) -> GraphData:
        """Ids, edges and living elements."""
        table = pq.read_table(self.folder.verified(_TERMS))
        arrays = safetensors.numpy.load_file(self.folder.verified(_EDGES))
        key = bytes.fromhex(table.schema.metadata[b"key"].decode())
        kinds = table["kind"].combine_chunks()

        def terms(kind: str) -> TermTable:
            rows = table.filter(pa.compute.equal(kinds, kind))
            hashes = rows["hash"].to_numpy().astype(np.uint64)
            return TermTable(rows["iri"].combine_chunks(), hashes)

        return GraphData(
            TermIndex(key, terms("entity"), terms("relation")),
            Snapshot(arrays["heads"], arrays["relations"], arrays["tails"]),
            Living(arrays["living_entities"], arrays["living_relations"]),
            {"entity": arrays["entity_last_seen"], "relation": arrays["relation_last_seen"]},
        )

    def check_graph(self) -> None:
        """Read the graph now.

        Raises:
            StateCorruptedError: It is damaged.
        """
        _ = self.graph

    @cached_property
    def tables(self) -> dict[str, Any]:
        """The model's tables as numpy arrays."""
        path = self.folder.verified(f"embeddings/{TENSORS}")
        return dict(read_tables(path.parent))

    def model(self) -> Model:
        """The model, ready to score or to be updated; its tables are copies."""
        import torch

        from kgsync.models import model_class

        settings = ModelSettings(**self.manifest.model)
        tables = {name: torch.from_numpy(table.copy()) for name, table in self.tables.items()}
        return model_class(settings.name)(settings, tables)

    def scorer(self) -> Scorer:
        """Scores for reading: by numpy, from the tables as they are."""
        from kgsync.models import scorer

        return scorer(ModelSettings(**self.manifest.model), self.tables)


def write_version(draft: Path, graph: GraphData, sidecar: Sidecar) -> None:
    """Write the files of a version into a draft folder."""
    (draft / "graph").mkdir()
    (draft / "embeddings").mkdir()
    terms = graph.terms
    iris = pa.concat_arrays([terms.entities.iris, terms.relations.iris])
    entities, relations = terms.sizes
    kind = pa.concat_arrays([pa.repeat("entity", entities), pa.repeat("relation", relations)])
    hashes = np.concatenate([terms.entities.hashes, terms.relations.hashes])
    table = pa.table({"kind": kind, "iri": iris, "hash": hashes})
    table = table.replace_schema_metadata({"key": terms.key.hex()})
    pq.write_table(table, draft / _TERMS, compression="zstd")
    heads, relation, tails = graph.edges.columns
    arrays = {
        "heads": heads,
        "relations": relation,
        "tails": tails,
        "living_entities": graph.living.entities,
        "living_relations": graph.living.relations,
        "entity_last_seen": graph.last_seen["entity"],
        "relation_last_seen": graph.last_seen["relation"],
    }
    write_tensors(draft / _EDGES, arrays)
    write_sidecar(draft / "embeddings", sidecar)

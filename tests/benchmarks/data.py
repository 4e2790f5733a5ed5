"""The graph that is read: two versions that differ by a twentieth, made once from a seed."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyoxigraph

    from kgsync.graph.terms import TermIndex
    from kgsync.source.fetch import Base

__all__ = ["Data", "build", "bulk_load", "load_old"]

_SEED = 20240229
_NAMESPACE = "http://example.org/resource"


@dataclass(frozen=True)
class Data:
    """The files of a benchmark in one folder."""

    folder: Path
    edges: int
    """Edges of each version."""

    old = f"{_NAMESPACE}/version/1"
    new = f"{_NAMESPACE}/version/2"

    @property
    def changed(self) -> int:
        """Edges added, and as many deleted, from the old version to the new one."""
        return self.edges // 20

    @property
    def entities(self) -> int:
        """Entities that edges are drawn from; nearly all occur."""
        return max(2, self.edges * 3 // 20)

    @property
    def relations(self) -> int:
        """Relations that edges are drawn from."""
        return 200

    @property
    def store(self) -> Path:
        """The Oxigraph directory with both versions."""
        return self.folder / "store"

    @property
    def base(self) -> Path:
        """What kgsync knows after the old version: its edges, and the IRIs of their ids."""
        return self.folder / "base.npz"

    def ntriples(self, version: str) -> Path:
        """The N-Triples file of a version."""
        return self.folder / f"{version.rpartition('/')[2]}.nt"


def build(data: Data) -> None:
    """Make the files that are not there yet; what kgsync has read is always read anew."""
    done, recipe = data.folder / "data.json", {"seed": _SEED, "edges": data.edges}
    if not done.is_file() or json.loads(done.read_text()) != recipe:
        done.unlink(missing_ok=True)
        _write_versions(data)
        _load_store(data)
        done.write_text(json.dumps(recipe))
    _read_old(data)


def _write_versions(data: Data) -> None:
    data.folder.mkdir(parents=True, exist_ok=True)
    triples = _draw(data, data.edges + data.changed)
    lines = [
        f"<{_NAMESPACE}/entity/{h}> <{_NAMESPACE}/property/{r}> <{_NAMESPACE}/entity/{t}> .\n"
        for h, r, t in triples.tolist()
    ]
    data.ntriples(data.old).write_text("".join(lines[: data.edges]))
    data.ntriples(data.new).write_text("".join(lines[data.changed :]))


def _draw(data: Data, count: int) -> Any:
    """Distinct triples; some entities and relations are much more frequent than others."""
    import numpy as np

    random = np.random.default_rng(_SEED)

    def skewed(size: int, exponent: float) -> Any:
        weights = 1.0 / np.arange(1, size + 1) ** exponent
        return random.choice(size, 2 * count, p=weights / weights.sum())

    # The head and the tail that are frequent are different entities.
    names = random.permutation(data.entities)
    heads, tails = skewed(data.entities, 0.6), names[skewed(data.entities, 0.6)]
    triples = np.stack([heads, skewed(data.relations, 1.0), tails], axis=1)
    _, first = np.unique(triples, axis=0, return_index=True)
    if len(first) < count:
        raise ValueError(f"{data.edges} edges are too few to draw distinct ones from")
    return triples[np.sort(first)[:count]]


def _load_store(data: Data) -> None:
    import pyoxigraph as ox

    shutil.rmtree(data.store, ignore_errors=True)
    store = ox.Store(str(data.store))
    bulk_load(data, store)
    store.optimize()


def bulk_load(data: Data, store: pyoxigraph.Store) -> None:
    """Load both versions, each into its graph."""
    import pyoxigraph as ox

    for version in (data.old, data.new):
        path, graph = str(data.ntriples(version)), ox.NamedNode(version)
        store.bulk_load(path=path, format=ox.RdfFormat.N_TRIPLES, to_graph=graph)


def _read_old(data: Data) -> None:
    import numpy as np

    from kgsync.graph.port import TripleSource
    from kgsync.graph.stores import open_store
    from kgsync.graph.terms import TermIndex
    from kgsync.source.fetch import fetch

    old = fetch(open_store(data.store), TripleSource(data.old), TermIndex(), None)
    entities, relations = old.terms.entities.iris, old.terms.relations.iris
    names = {"entities": np.array(entities, str), "relations": np.array(relations, str)}
    np.savez(data.base, allow_pickle=False, edges=np.stack(old.edges.columns), **names)


def load_old(data: Data) -> tuple[Base, TermIndex]:
    """What kgsync knows after the old version."""
    import numpy as np
    import pyarrow as pa

    from kgsync.graph.port import TripleSource
    from kgsync.graph.rows import Skipped
    from kgsync.graph.snapshot import Snapshot
    from kgsync.graph.terms import TermIndex
    from kgsync.source.fetch import Base

    with np.load(data.base) as saved:
        edges = Snapshot(*saved["edges"])
        terms = TermIndex().extended(pa.array(saved["entities"]), pa.array(saved["relations"]))
    return Base(TripleSource(data.old), edges, len(edges), Skipped()), terms

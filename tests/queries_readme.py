"""Writes queries/README.md: every query for users, with its answer on the demo's store.

python -m tests.queries_readme            builds the demo, which takes about a minute
python -m tests.queries_readme FOLDER     takes a demo that is there
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from kgsync import KGSync, queries
from kgsync.cli.demo import run_demo
from kgsync.cli.demo_graph import BASE, HEROINE
from kgsync.cli.query import table_lines
from kgsync.common.listener import SilentListener
from kgsync.graph.table import Table
from kgsync.queries import Parameter, Query

README = Path(queries.__path__[0]).resolve() / "README.md"
_SHOWN = 8

EXAMPLES: dict[str, dict[str, str]] = {
    "entities_without_embedding": {"graph": f"{BASE}kg/1"},
    "most_moved": {"k": "5"},
    "nearest_neighbors": {"iri": HEROINE, "k": "5"},
    "nearest_neighbors_sidecar": {"iri": HEROINE, "k": "5"},
    "old_embeddings": {"age": "0s"},
    "quality_drops": {"drop": "0.001"},
    "run_of_literal": {"iri": HEROINE},
}
"""Parameters that make a good example."""

_HEAD = """\
# Queries

Ready queries about the embeddings in a store, in SPARQL 1.1. `kgsync query` lists them;
`kgsync query NAME --param name=value` runs one where the metadata is published, and
`KGSync.query("NAME", name=value)` does the same in Python.

They may also be pasted into any SPARQL client. Where nothing is filled in, a placeholder is a
variable, and stands for all there are. These have to be replaced by hand:

{pasted}

The neighbours and `most_moved` call functions that only embedded stores know; see below. On
Virtuoso replace `$metadata` too, by the metadata graph: where that is a variable, its property
paths miss versions and repeat others.

Files that begin with an underscore are kgsync's own.

## A query of your own

`kgsync query --file mine.rq` runs a file in the same grammar. The comment head declares each
placeholder with its type, a default if it has one, and what it is:

```sparql
# How many triples a graph has with each predicate, the most frequent first.
# $graph: iri = ?source     the graph; that of the current version by default
# $k: integer = 10          how many
SELECT ?p (COUNT(*) AS ?n) WHERE { GRAPH $graph { ?s ?p ?o } }
GROUP BY ?p ORDER BY DESC(?n) LIMIT $k
```

| type | what is given | what it becomes |
|---|---|---|
| `iri` | an absolute IRI, with or without `<` and `>` | the IRI |
| `literal` | any text | a string |
| `integer`, `decimal` | a number | the number |
| `age` | a time span like `30m`, `12h` or `7d` | the moment that long ago, as xsd:dateTime |
| `iris` | `--param` once for each | the list, for `VALUES ?x { $name }` |
| `literals` | `--param` once for each | the list, for `?x IN ($name)` |
| `values` | `--param` once for each | the list, for `VALUES ?x { $name }` |

A default that begins with `?` is filled in by the sync: `?metadata` is its metadata graph,
`?current` the number of its current version (or of that named by `--at`), `?previous` that of the
version before, `?source` the graph it was read from, `?entities` all that have a vector in it, and
`?at` the number that `--at` names. Given as `*`, such a placeholder stays a variable, unless it is
a list; so does `?at` without `--at`. The others must be known: the first version has none before,
and a default graph has no name, so that `--param` has to say what is meant. Whatever value is
given, it cannot change the query around it.

What a query is about has to be where it is run. A graph that this store does not hold, as where
metadata is published into another one, is an error; so are vectors as literals that were never
written (`publish.literals`) or are kept no more (`publish.keep`).

`--at VERSION` (`at=` in Python) asks about an older version. A query in which no version can be
meant, as in `current_vectors`, refuses it.

## Functions

On embedded Oxigraph stores and on rdflib, queries may call

| function | value |
|---|---|
| `<https://w3id.org/rdf-tensor/functions#cosineSimilarity>(?a, ?b)` | cosine of two vectors |
| `<https://w3id.org/rdf-tensor/functions#euclideanDistance>(?a, ?b)` | distance of two vectors |
| `kge:vector(?iri)`, `kge:vector(?iri, ?version)` | the vector as a `cdt:List` literal |
| `kge:score(?head, ?relation, ?tail)` | the model's score of a triple |

A vector is a literal of any of the datatypes that kgsync writes, or the IRI of an entity or a
relation, whose vector then comes from the files. An IRI without a vector is unbound. A malformed
vector, and two of different length, are an error.

## The library

The answers are those of the store that `kgsync demo` builds, cut after eight rows;
`python -m tests.queries_readme` writes them anew.
"""


WRITTEN = {
    "age": '"2026-11-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>',
    "decimal": "0.01",
    "integer": "10",
    "iri": "<http://example.org/x>",
    "iris": "<http://example.org/x> <http://example.org/y>",
}
"""Type -> how a value of it is written into a query by hand."""


def by_hand(query: Query) -> list[Parameter]:
    """What has to be replaced before a query is pasted into a client."""
    # All graphs would be those of kgsync, too.
    return [
        p
        for p in query.parameters.values()
        if p.known_as is None or p.known_as == "source" or p.kind == "iris"
    ]


def pasted() -> str:
    """A table of those, and what to write."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in queries.available():
        for parameter in by_hand(queries.load(name)):
            found.setdefault((parameter.name, parameter.kind), []).append(f"`{name}`")
    lines = ["| placeholder | in | is replaced by, for instance |", "|---|---|---|"]
    for (name, kind), where in sorted(found.items()):
        lines.append(f"| `${name}` | {', '.join(where)} | `{WRITTEN[kind]}` |")
    return "\n".join(lines)


def section(sync: KGSync, query: Query, hidden: str) -> str:
    """One query: what it is for, what it takes, and its answer."""
    given = EXAMPLES.get(query.name, {})
    table = sync.query(query.name, **given)  # type: ignore[arg-type]
    lines = [f"### {query.name}", "", query.summary, ""]
    if query.parameters:
        lines += ["| parameter | type | default | |", "|---|---|---|---|"]
        lines += [_row(parameter) for parameter in query.parameters.values()]
        lines.append("")
    command = " ".join(["kgsync query", query.name, *(f"-p {n}={v}" for n, v in given.items())])
    shown = Table(table.columns, table.rows[:_SHOWN])
    lines += ["```", f"$ {command}", *(table_lines(shown) if table.rows else ["no rows"])]
    if len(table) > _SHOWN:
        lines.append(f"… {len(table):,} rows in all")
    return "\n".join([*lines, "```", ""]).replace(hidden, "/path/to")


def _row(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f"`{parameter.default}`"
    return f"| `{parameter.name}` | {parameter.kind} | {default} | {parameter.about} |"


def head() -> str:
    """What stands before the library."""
    return _HEAD.replace("{pasted}", pasted())


def write(folder: Path) -> None:
    """Write the file, with the answers of a demo."""
    sync = KGSync.from_config(folder / "kgsync.toml")
    hidden = str(folder.resolve().parent)
    sections = [section(sync, queries.load(name), hidden) for name in queries.available()]
    README.write_text("\n".join([head(), *sections]), encoding="utf-8")


def main() -> None:
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "kgsync-demo"
        run_demo(folder, SilentListener())
        write(folder)


if __name__ == "__main__":
    main()

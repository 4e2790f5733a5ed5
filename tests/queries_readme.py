"""Writes queries/README.md: every public query, with its result on the demo's store.

python -m tests.queries_readme            builds the demo, which takes about a minute
python -m tests.queries_readme FOLDER     uses an existing demo
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from kgsync import KGSync, queries
from kgsync.cli.commands.demo import demo
from kgsync.cli.commands.query import result_lines
from kgsync.cli.demo_graph import BASE, HEROINE
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

SPARQL 1.1 queries about the embeddings in a store. `kgsync query` lists them;
`kgsync query NAME --param name=value` runs one where the metadata is published, and
`KGSync.query("NAME", name=value)` does the same in Python.

You can also paste them into any SPARQL client. A placeholder without a value is a variable and
matches everything. These have to be replaced by hand:

{pasted}

`nearest_neighbors`, `nearest_neighbors_sidecar` and `most_moved` call functions that only embedded
stores have; see below. On Virtuoso also replace `$metadata` by the metadata graph: if it is a
variable, Virtuoso's property paths miss some versions and repeat others.

Files whose names begin with an underscore are internal.

## Your own queries

`kgsync query --file mine.rq` runs a file with the same syntax. The header comment declares each
placeholder with its type, an optional default, and a description:

```sparql
# How many triples a graph has with each predicate, the most frequent first.
# $graph: iri = ?source     the graph; that of the current version by default
# $k: integer = 10          how many
SELECT ?p (COUNT(*) AS ?n) WHERE { GRAPH $graph { ?s ?p ?o } }
GROUP BY ?p ORDER BY DESC(?n) LIMIT $k
```

| type | value | inserted as |
|---|---|---|
| `iri` | an absolute IRI, with or without `<` and `>` | the IRI |
| `literal` | any text | a string |
| `integer`, `decimal` | a number | the number |
| `age` | a time span like `30m`, `12h` or `7d` | the time that long ago, as xsd:dateTime |
| `iris` | one `--param` per item | the list, for `VALUES ?x { $name }` |
| `literals` | one `--param` per item | the list, for `?x IN ($name)` |
| `values` | one `--param` per item | the list, for `VALUES ?x { $name }` |

The sync fills in defaults that begin with `?`: `?metadata` is its metadata graph, `?current` the
number of its current version (or of the version given by `--at`), `?previous` that of the previous
version, `?source` the graph it was read from, `?entities` all entities with a vector in it, and
`?at` the number given by `--at`. With the value `*` such a placeholder stays a variable, unless it
is a list; so does `?at` without `--at`. The others must be known: the first version has no previous
one, and a default graph has no name, so `--param` is required there. Values are escaped and cannot
change the rest of the query.

The data that a query needs must be in the store where it runs. A graph that this store does not
have, for example because the metadata is published into another store, is an error. So are literals
that were never written (`publish.literals`) or are no longer kept (`publish.keep`).

`--at VERSION` (`at=` in Python) queries an older version. Queries that always use the current
version, such as `current_vectors`, reject it.

## Functions

On embedded Oxigraph stores and on rdflib, queries can call

| function | value |
|---|---|
| `<https://w3id.org/rdf-tensor/functions#cosineSimilarity>(?a, ?b)` | cosine of two vectors |
| `<https://w3id.org/rdf-tensor/functions#euclideanDistance>(?a, ?b)` | distance of two vectors |
| `kge:vector(?iri)`, `kge:vector(?iri, ?version)` | the vector as a `cdt:List` literal |
| `kge:score(?head, ?relation, ?tail)` | the model's score of a triple |

A vector argument is a literal of any datatype that kgsync writes, or the IRI of an entity or
relation, whose vector is read from the files. For an IRI without a vector the result is unbound. A
malformed vector, or two vectors of different lengths, is an error.

## The library

The results are from the store that `kgsync demo` builds, truncated to eight rows;
`python -m tests.queries_readme` regenerates them.
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
    """The placeholders to replace before a query is pasted into a client."""
    # A variable would also match kgsync's own graphs.
    return [
        p
        for p in query.parameters.values()
        if p.known_as is None or p.known_as == "source" or p.kind == "iris"
    ]


def pasted() -> str:
    """A table of those, with example values."""
    found: dict[tuple[str, str], list[str]] = {}
    for name in queries.available():
        for parameter in by_hand(queries.load(name)):
            found.setdefault((parameter.name, parameter.kind), []).append(f"`{name}`")
    lines = ["| placeholder | in | example of a value |", "|---|---|---|"]
    for (name, kind), where in sorted(found.items()):
        lines.append(f"| `${name}` | {', '.join(where)} | `{WRITTEN[kind]}` |")
    return "\n".join(lines)


def section(sync: KGSync, query: Query, hidden: str) -> str:
    """One query: its summary, its parameters and its result."""
    given = EXAMPLES.get(query.name, {})
    table = sync.query(query.name, **given)  # type: ignore[arg-type]
    lines = [f"### {query.name}", "", query.summary, ""]
    if query.parameters:
        lines += ["| parameter | type | default | |", "|---|---|---|---|"]
        lines += [_row(parameter) for parameter in query.parameters.values()]
        lines.append("")
    command = " ".join(["kgsync query", query.name, *(f"-p {n}={v}" for n, v in given.items())])
    shown = Table(table.columns, table.rows[:_SHOWN])
    lines += ["```", f"$ {command}", *(result_lines(shown) if table.rows else ["no rows"])]
    if len(table) > _SHOWN:
        lines.append(f"… {len(table):,} rows in all")
    return "\n".join([*lines, "```", ""]).replace(hidden, "/path/to")


def _row(parameter: Parameter) -> str:
    default = "" if parameter.default is None else f"`{parameter.default}`"
    return f"| `{parameter.name}` | {parameter.kind} | {default} | {parameter.about} |"


def head() -> str:
    """The text before the library."""
    return _HEAD.replace("{pasted}", pasted())


def write(folder: Path) -> None:
    """Write the file, with the results on a demo."""
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
        demo(folder)
        write(folder)


if __name__ == "__main__":
    main()

"""The commands that read what was committed; none of them changes anything."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kgsync.cli.options import CONFIG, At, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.reports import show_status

__all__ = ["export", "moves", "neighbors", "predict", "query", "status"]

Count = Annotated[int, typer.Option("-k", min=1, help="Number of results.")]


def status(config: Config = CONFIG, json: Json = False) -> None:
    """Show the current version, the scheduled runs and the history."""
    output.json = json
    with opened_sync(config) as sync:
        found, history = sync.status(), sync.history()
    output.data({**found.to_json(), "history": [report.to_json() for report in history]})
    show_status(found, history)


def neighbors(
    iri: Annotated[str, typer.Argument(help="IRI of an entity.")],
    k: Count = 10,
    at: At = None,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Show the nearest entities by cosine similarity."""
    output.json = json
    with opened_sync(config) as sync:
        found = sync.at(at).neighbors(iri, k)
    output.data([asdict(neighbor) for neighbor in found])
    output.table(["entity", "cosine"], [(n.iri, f"{n.similarity:.3f}") for n in found])


def moves(
    iri: Annotated[str, typer.Argument(help="IRI of an entity or a relation.")],
    kind: Annotated[str, typer.Option(help="Kind of the element: entity or relation.")] = "entity",
    k: Annotated[int, typer.Option("-k", min=0, help="Triples to show per version.")] = 10,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Show how far an element moved in each version, and which triples it gained and lost."""
    output.json = json
    from kgsync.cli.moves import show_moves

    with opened_sync(config) as sync:
        show_moves(sync, iri, kind, k)


def predict(
    relation: Annotated[str, typer.Option(help="IRI of the relation.")],
    head: Annotated[str | None, typer.Option(help="IRI of the head, to predict tails.")] = None,
    tail: Annotated[str | None, typer.Option(help="IRI of the tail, to predict heads.")] = None,
    k: Count = 10,
    new_only: Annotated[bool, typer.Option(help="Leave out triples already in the graph.")] = False,
    at: At = None,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Predict the missing head or tail of a triple."""
    output.json = json
    with opened_sync(config) as sync:
        view = sync.at(at)
        found = view.predict(relation=relation, head=head, tail=tail, k=k, new_only=new_only)
    output.data([asdict(prediction) for prediction in found])
    rows = [(p.iri, f"{p.score:.3f}", "in the graph" if p.known else "new") for p in found]
    output.table(["entity", "score", ""], rows)


def export(
    file: Annotated[
        Path,
        typer.Argument(help="Its suffix sets the format: .vec, .txt, .npz, .usearch, .parquet."),
    ],
    format_: Annotated[
        str | None, typer.Option("--format", help="word2vec, npz, usearch or parquet.")
    ] = None,
    kind: Annotated[str, typer.Option(help="Kind of the vectors: entity or relation.")] = (
        "entity"
    ),
    at: At = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Export the vectors for other tools: word2vec text, npz, Parquet, usearch index."""
    output.json = json
    from kgsync.cli.export import export_vectors

    with opened_sync(config) as sync:
        export_vectors(sync, file, format_, kind, at, force=force)


def query(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of a query, or SPARQL text; default: list all queries."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="File with your own query, instead of a name.")
    ] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="Parameter as name=value; repeatable.")
    ] = None,
    at: At = None,
    form: Annotated[str, typer.Option("--format", help="Output: table, csv or json.")] = "table",
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Run a query on the published embeddings, or list the available queries."""
    output.json = json or form == "json"
    from kgsync.cli.query import list_queries, read_parameters, show_query

    if name is None and file is None:
        list_queries()
    else:
        show_query(config, name, file, read_parameters(param or []), form, at)

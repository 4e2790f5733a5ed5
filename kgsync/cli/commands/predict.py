"""`kgsync predict`: the most likely heads or tails of a triple."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from kgsync.cli.declaration import CommandDeclaration, Panel
from kgsync.cli.options import CONFIG, At, Config, Count, Json, opened_sync
from kgsync.cli.output import output
from kgsync.common.rdf_terms import bare_iri

__all__ = ["COMMAND"]


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
        found = view.predict(
            relation=bare_iri(relation),
            head=None if head is None else bare_iri(head),
            tail=None if tail is None else bare_iri(tail),
            k=k,
            new_only=new_only,
        )
    output.data([asdict(prediction) for prediction in found])
    rows = [(p.iri, f"{p.score:.3f}", "in the graph" if p.known else "new") for p in found]
    output.table(["entity", "score", ""], rows, shorten=["entity"])


COMMAND = CommandDeclaration("predict", predict, place=2, panel=Panel.USE)

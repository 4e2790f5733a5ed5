"""Initial vectors from closed forms (the paper's pos, neg and neg2), for models that have them.

A triple has a best place for its new element: where the triple would hold exactly; see
`kgsync.models.base.Model.places`. Elements without a closed form keep the average.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from kgsync.graph.active import TripleRows
from kgsync.models.base import Model
from kgsync.models.parts.arrays import length
from kgsync.models.parts.places import Places
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.settings import UpdateSettings

__all__ = ["place"]

_BLOCK = 256  # matrices of d x d numbers at a time
_PARALLEL = 1e-10  # a sum over many triples rounds more than the default allows for


def place(
    model: Model,
    evidence: Evidence,
    negatives: KeyedNegatives,
    settings: UpdateSettings,
) -> None:
    """Move new elements that do not depend on each other to their best positions, in place.

    Args:
        model: The model; only the rows of the elements change.
        evidence: The elements and their informative triples.
        negatives: Samples negatives, keyed by element.
        settings: Which closed form, and its parameters.
    """
    if evidence.kind not in model.info.closed_forms:
        return
    owner = torch.from_numpy(evidence.owner)
    best = _places(model, evidence, evidence.triples)
    match settings.initial_vectors:
        case "balance":
            vectors = _balance(model, evidence, best, negatives, settings.initial_negatives or 1)
        case "jumps":
            start = _nearest(best, owner, len(evidence.rows))
            vectors = _jumps(model, evidence, best, start, negatives, settings)
        case _:
            vectors = _nearest(best, owner, len(evidence.rows))
    table = model.tables[evidence.kind]
    table[torch.from_numpy(evidence.rows)] = vectors.to(table.dtype)


def _places(model: Model, evidence: Evidence, triples: TripleRows) -> Places:
    """For each triple the place where it holds, in double precision."""
    heads, relations, tails = (torch.from_numpy(column) for column in triples)
    # A negative has another entity on the other side: its own side gives the direction.
    incoming = torch.from_numpy(evidence.triples[2] == evidence.row)[:, None]
    return model.places(
        evidence.kind,
        model.rows("entity", heads),
        model.rows("relation", relations),
        model.rows("entity", tails),
        incoming,
    )


def _nearest(places: Places, owner: Tensor, owners: int) -> Tensor:
    """For each owner the vector nearest to all its places, by least squares."""
    points, along = places.points, places.along
    if along is None:
        return _sum(points, owner, owners) / torch.bincount(owner, minlength=owners)[:, None]
    across = points - (points * along).sum(-1, keepdim=True) * along
    target = _sum(across, owner, owners)
    width = points.shape[1]
    result = torch.empty(owners, width, dtype=points.dtype)
    for start in range(0, owners, _BLOCK):
        end = min(start + _BLOCK, owners)
        inside = (owner >= start) & (owner < end)
        normals, local = along[inside], owner[inside] - start
        # Σ (I - w wᵀ), singular where all triples share a relation: the pseudo-inverse.
        matrix = torch.zeros(end - start, width, width, dtype=points.dtype)
        for at in range(0, len(local), _BLOCK):
            w = normals[at : at + _BLOCK]
            matrix.index_add_(0, local[at : at + _BLOCK], -w[:, :, None] * w[:, None, :])
        counts = torch.bincount(local, minlength=end - start).to(points.dtype)
        matrix += counts[:, None, None] * torch.eye(width, dtype=points.dtype)
        inverse = torch.linalg.pinv(matrix, rtol=_PARALLEL, hermitian=True)
        result[start:end] = (inverse @ target[start:end, :, None])[:, :, 0]
    return result


def _balance(
    model: Model,
    evidence: Evidence,
    best: Places,
    negatives: KeyedNegatives,
    draws: int,
) -> Tensor:
    """The nearest vector to the best places and to the negated positions of negatives."""
    owner = torch.from_numpy(evidence.owner)
    false = negatives.draw(evidence, draws, epoch=0)
    points, along, owners = [best.points], [best.along], [owner]
    for draw in range(draws):
        possible = false.possible[draw]
        worst = _places(model, evidence, false.triples[:, draw]).where(possible)
        points.append(-worst.points)
        along.append(worst.along)
        owners.append(owner[possible])
    lines = [part for part in along if part is not None]
    places = Places(torch.cat(points), torch.cat(lines) if lines else None)
    return _nearest(places, torch.cat(owners), len(evidence.rows))


def _jumps(
    model: Model,
    evidence: Evidence,
    best: Places,
    vectors: Tensor,
    negatives: KeyedNegatives,
    settings: UpdateSettings,
) -> Tensor:
    """Alg. negatives2_iterative: jump towards a best position while a negative one is nearer.

    The triples of one element come one after the other; the elements go side by side.
    """
    owner = torch.from_numpy(evidence.owner)
    ends = np.cumsum(np.bincount(evidence.number))[:-1]
    turns = np.split(np.argsort(evidence.number, kind="stable"), ends)
    draws, norm = settings.initial_negatives or 4, model.settings.norm
    moving = torch.ones(len(vectors), dtype=torch.bool)
    for epoch in range(settings.jump_rounds):
        false = negatives.draw(evidence, draws, epoch)
        worst = [_places(model, evidence, false.triples[:, draw]) for draw in range(draws)]
        jumped = torch.zeros_like(moving)
        for turn in turns:
            at = torch.from_numpy(turn)
            at = at[moving[owner[at]]]
            for draw in range(draws):
                who = owner[at]
                way = best.where(at).gap(vectors[who])
                away = worst[draw].where(at).gap(vectors[who])
                nearer = length(away, norm) < length(way, norm)
                jumps = false.possible[draw][at] & nearer
                vectors[who[jumps]] += settings.jump_size * way[jumps]
                jumped[who[jumps]] = True
        moving &= jumped
        if not moving.any():
            break
    return vectors


def _sum(rows: Tensor, owner: Tensor, owners: int) -> Tensor:
    return rows.new_zeros(owners, rows.shape[1]).index_add_(0, owner, rows)

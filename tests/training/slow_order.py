"""A literal transcription of alg. TDSM_init, set by set; slow, for comparison."""

from __future__ import annotations

from collections.abc import Sequence

from kgsync.models.base import Kind
from tests.training.graphs import Triple

EPSILON = 1e-6
Element = tuple[Kind, int]
Placed = tuple[Kind, int, set[Triple]]
"""Kind and row of an element, and its informative triples when it left the queue."""


def slow_order(
    train: Sequence[Triple], new_entities: Sequence[int], new_relations: Sequence[int]
) -> list[Placed]:
    """The order of initialisation; ties: relations first, then the order in which they are given.

    `x ∉ Q` in the line on I(r) is read as `h ∉ Q`.
    """
    s, new_v, new_r = set(train), set(new_entities), set(new_relations)
    queue: dict[Element, float] = {}
    i: dict[Element, set[Triple]] = {}
    o: dict[Element, set[Triple]] = {}
    u: dict[Element, set[Triple]] = {}

    def update_priority(x: Element) -> None:
        queue[x] = (len(i[x]) + len(o[x])) / (len(u[x]) + EPSILON)

    def entity_queued(v: int) -> bool:
        return ("entity", v) in queue

    def relation_queued(r: int) -> bool:
        return ("relation", r) in queue

    for row in new_relations:
        x: Element = ("relation", row)
        i[x] = {(h, r, t) for h, r, t in s if r == row and h not in new_v and t not in new_v}
        o[x] = set()
        u[x] = {(h, r, t) for h, r, t in s if r == row and (h in new_v or t in new_v)}
        update_priority(x)
    for row in new_entities:
        x = ("entity", row)
        i[x] = {(h, r, t) for h, r, t in s if t == row and h not in new_v and r not in new_r}
        o[x] = {(h, r, t) for h, r, t in s if h == row and r not in new_r and t not in new_v}
        u[x] = {(h, r, t) for h, r, t in s if row in (h, t)} - (i[x] | o[x])
        update_priority(x)

    order: list[Placed] = []
    while queue:
        kind, row = x = max(queue, key=queue.__getitem__)  # the first of those with the highest
        del queue[x]
        informed = i[x] | o[x]
        order.append((kind, row, informed))
        entities = [v for k, v in queue if k == "entity"]
        relations = [r for k, r in queue if k == "relation"]
        for v in entities:
            if kind == "relation":
                incoming = {e for e in s if e[1:] == (row, v) and not entity_queued(e[0])}
                outgoing = {e for e in s if e[:2] == (v, row) and not entity_queued(e[2])}
            else:
                incoming = {e for e in s if e[::2] == (row, v) and not relation_queued(e[1])}
                outgoing = {e for e in s if e[::2] == (v, row) and not relation_queued(e[1])}
            if informed:
                i["entity", v] |= incoming
                o["entity", v] |= outgoing
            u["entity", v] -= incoming | outgoing
            update_priority(("entity", v))
        for r in relations if kind == "entity" else []:
            into = {e for e in s if e[1:] == (r, row) and not entity_queued(e[0])}
            out_of = {e for e in s if e[:2] == (row, r) and not entity_queued(e[2])}
            if informed:
                i["relation", r] |= into | out_of
            u["relation", r] -= into | out_of
            update_priority(("relation", r))
    return order

"""Closed-form initial vectors on graphs where the best place is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from kgsync.config import InitialVectors, ModelSettings, Norm, UpdateSettings
from kgsync.models.base import Kind
from kgsync.models.parts.translational import Translational
from kgsync.models.transe import TransE
from kgsync.models.transh import TransH
from kgsync.training.initial.closed_forms import place
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from tests.evaluation.memory import Largest
from tests.models.cases import NORMS
from tests.training.graphs import Triple, as_triples
from tests.training.newcomers import evidence, for_model

Numbers = NDArray[np.float64]

ENTITIES, RELATIONS, WIDTH = 14, 5, 3
OLD = list(range(10))  # entities 10 to 13 and relation 4 are new
TRIPLES: dict[Kind, dict[int, list[Triple]]] = {
    "entity": {
        10: [(0, 0, 10), (10, 1, 1), (10, 0, 2), (3, 2, 10)],
        11: [(11, 3, 4)],
        13: [(5, 1, 13), (6, 1, 13), (13, 1, 7)],
    },
    "relation": {4: [(0, 4, 1), (2, 4, 2), (8, 4, 9)]},
}

both_kinds = pytest.mark.parametrize("kind", ["entity", "relation"])
every_norm = pytest.mark.parametrize("norm", list(NORMS))


def _model(name: str, norm: Norm = "l1", seed: int = 0) -> Translational:
    chosen: type[Translational] = TransE if name == "transe" else TransH
    settings = ModelSettings(name, WIDTH, norm=norm)
    model = chosen.random(settings, ENTITIES, RELATIONS, torch.Generator().manual_seed(seed))
    assert isinstance(model, Translational)
    return model


def _placed(
    model: Translational,
    given: Evidence,
    draws: KeyedNegatives,
    **update: object,
) -> dict[int, Numbers]:
    """The new vectors by row; nothing else may have moved."""
    before = model.copy_tables()
    place(model, given, draws, UpdateSettings(**update))  # type: ignore[arg-type]
    rows = given.rows.tolist()
    for name, table in model.tables.items():
        rest = [row for row in range(len(table)) if name != given.kind or row not in rows]
        assert torch.equal(table[rest], before[name][rest])
    return {row: model.tables[given.kind][row].double().numpy() for row in rows}


def _draws(model: Translational, triples: Mapping[int, Sequence[Triple]]) -> KeyedNegatives:
    return for_model(model, [triple for some in triples.values() for triple in some], OLD)


def _numbers(model: Translational) -> Callable[[str, int], Numbers]:
    return lambda table, row: model.tables[table][row].double().numpy()


def _project(model: Translational, entity: int, relation: int) -> Numbers:
    vector = _numbers(model)
    if "normal" not in model.tables:
        return vector("entity", entity)
    normal = _normal(model, relation)
    return vector("entity", entity) - (normal @ vector("entity", entity)) * normal


def _normal(model: Translational, relation: int) -> Numbers:
    normal = _numbers(model)("normal", relation)
    length: Numbers = np.sqrt(normal @ normal)
    return normal / length


def _best(model: Translational, kind: Kind, triple: Triple, row: int) -> Numbers:
    """Where the element would have to be for the triple to hold."""
    head, relation, tail = triple
    vector = _numbers(model)
    if kind == "relation":
        return vector("entity", tail) - vector("entity", head)
    if tail == row:
        return _project(model, head, relation) + vector("relation", relation)
    return _project(model, tail, relation) - vector("relation", relation)


@both_kinds
@every_norm
def test_transe_starts_at_the_mean_of_the_places(kind: Kind, norm: Norm) -> None:
    model, triples = _model("transe", norm), TRIPLES[kind]
    placed = _placed(model, evidence(kind, triples), _draws(model, triples), initial_vectors="best")
    for row, some in triples.items():
        expected = sum(_best(model, kind, triple, row) for triple in some) / len(some)
        np.testing.assert_allclose(placed[row], expected, atol=1e-6)


def test_a_translation_that_holds_is_found_exactly() -> None:
    model = _model("transe")
    point = torch.tensor([0.5, -2.0, 1.0])
    model.tables["entity"][1] = point - model.tables["relation"][0]
    model.tables["entity"][2] = point + model.tables["relation"][1]
    triples = {10: [(1, 0, 10), (10, 1, 2)]}
    placed = _placed(
        model, evidence("entity", triples), _draws(model, triples), initial_vectors="best"
    )
    np.testing.assert_allclose(placed[10], point.numpy(), atol=1e-6)


def test_transh_finds_the_point_in_which_all_lines_meet() -> None:
    model = _model("transh")
    point = torch.tensor([0.7, -1.5, 2.0])
    # Entities 1, 2 and 3 stand where the point stands for relations 0, 1 and 2, but for the
    # translation and for a stretch along the normal, which the relation does not see.
    for relation, sign in ((0, -1.0), (1, 1.0), (2, -1.0)):
        normal = model.tables["normal"][relation]
        on_plane = model.tables["relation"][relation]
        on_plane -= (on_plane @ normal) * normal
        model.tables["entity"][relation + 1] = point + sign * on_plane + (3.0 + relation) * normal
    triples = {12: [(1, 0, 12), (12, 1, 2), (3, 2, 12)]}
    placed = _placed(
        model, evidence("entity", triples), _draws(model, triples), initial_vectors="best"
    )
    np.testing.assert_allclose(placed[12], point.numpy(), atol=1e-5)


def test_transh_lines_at_a_small_angle_still_meet() -> None:
    model = _model("transh")
    point = torch.tensor([0.7, -1.5, 2.0])
    model.tables["relation"][:2] = 0.0
    model.tables["normal"][:2] = torch.tensor([[1.0, 0.0, 0.0], [0.9998, 0.02, 0.0]])
    model.tables["entity"][:2] = point
    triples = {12: [(0, 0, 12), (1, 1, 12)]}
    placed = _placed(
        model, evidence("entity", triples), _draws(model, triples), initial_vectors="best"
    )
    np.testing.assert_allclose(placed[12], point.numpy(), atol=1e-3)


def test_transh_minimises_the_squared_distances_to_the_lines() -> None:
    model, triples = _model("transh"), TRIPLES["entity"]
    placed = _placed(
        model, evidence("entity", triples), _draws(model, triples), initial_vectors="best"
    )
    for row, some in triples.items():
        # Each line gives the equations (I - w wᵀ) v = (I - w wᵀ) p.
        flat = [np.eye(WIDTH) - np.outer(w, w) for w in (_normal(model, r) for _, r, _ in some)]
        places = [_best(model, "entity", triple, row) for triple in some]
        wanted = np.concatenate([m @ p for m, p in zip(flat, places, strict=True)])
        expected, *_ = np.linalg.lstsq(np.concatenate(flat), wanted, rcond=1e-8)
        np.testing.assert_allclose(placed[row], expected, atol=1e-5)


@pytest.mark.parametrize("count", [1, 3, 300, 3000])
def test_transh_triples_of_one_relation_leave_no_part_along_its_normal(count: int) -> None:
    """The lines are parallel: of all vectors nearest to them the shortest is taken."""
    settings = ModelSettings("transh", WIDTH)
    for seed in range(5):
        model = TransH.random(settings, count + 1, 1, torch.Generator().manual_seed(seed))
        assert isinstance(model, TransH)
        triples = {count: [(entity, 0, count) for entity in range(count)]}
        placed = _placed(
            model, evidence("entity", triples), _draws(model, triples), initial_vectors="best"
        )[count]
        normal = _normal(model, 0)
        places = [_best(model, "entity", triple, count) for triple in triples[count]]
        expected = sum(p - (p @ normal) * normal for p in places) / count
        np.testing.assert_allclose(placed, expected, atol=1e-6)


@pytest.mark.parametrize("start", ["best", "balance", "jumps"])
def test_transh_relations_keep_the_average(start: InitialVectors) -> None:
    model, triples = _model("transh"), TRIPLES["relation"]
    before = model.copy_tables()
    _placed(model, evidence("relation", triples), _draws(model, triples), initial_vectors=start)
    for name, table in model.tables.items():
        assert torch.equal(table, before[name])


def _false(draws: KeyedNegatives, given: Evidence, count: int, epoch: int) -> list[list[Triple]]:
    """By draw; all must have been found."""
    false = draws.draw(given, count, epoch)
    assert bool(false.possible.all())
    return [as_triples(false.triples[:, draw]) for draw in range(count)]


@both_kinds
@pytest.mark.parametrize(("asked", "count"), [(0, 1), (1, 1), (3, 3)])
def test_transe_balances_best_places_with_negated_ones_of_false_triples(
    kind: Kind, asked: int, count: int
) -> None:
    model, triples = _model("transe"), TRIPLES[kind]
    given, draws = evidence(kind, triples), _draws(model, triples)
    placed = _placed(model, given, draws, initial_vectors="balance", initial_negatives=asked)
    false = _false(draws, given, count, 0)
    for number, (row, some) in enumerate(triples.items()):
        columns = np.flatnonzero(given.owner == number)
        best = sum(_best(model, kind, triple, row) for triple in some)
        worst = sum(_best(model, kind, drawn[at], row) for drawn in false for at in columns)
        np.testing.assert_allclose(
            placed[row], (best - worst) / ((1 + count) * len(some)), atol=1e-6
        )


def test_transh_balances_lines_as_it_does_points() -> None:
    model, triples = _model("transh"), TRIPLES["entity"]
    given, draws = evidence("entity", triples), _draws(model, triples)
    placed = _placed(model, given, draws, initial_vectors="balance", initial_negatives=2)
    false = _false(draws, given, 2, 0)
    for number, (row, some) in enumerate(triples.items()):
        columns = np.flatnonzero(given.owner == number)
        matrix, wanted = np.zeros((WIDTH, WIDTH)), np.zeros(WIDTH)
        signed = [(1, triple) for triple in some]
        signed += [(-1, drawn[at]) for drawn in false for at in columns]
        for sign, triple in signed:
            normal = _normal(model, triple[1])
            flat = np.eye(WIDTH) - np.outer(normal, normal)
            matrix += flat
            wanted += flat @ (sign * _best(model, "entity", triple, row))
        expected = np.linalg.pinv(matrix, rcond=1e-8) @ wanted
        np.testing.assert_allclose(placed[row], expected, atol=1e-5)


def _jumped(
    model: Translational,
    given: Evidence,
    draws: KeyedNegatives,
    start: Numbers,
    update: UpdateSettings,
) -> tuple[Numbers, int, bool]:
    """Alg. negatives2_iterative for one element: vector, number of jumps, and whether it rests."""
    (row,) = given.rows.tolist()
    some = as_triples(given.triples)
    length = NORMS[model.settings.norm]
    vector, jumps, epoch, stable = start.copy(), 0, 0, False

    def way(triple: Triple) -> Numbers:
        gap = _best(model, given.kind, triple, row) - vector
        if "normal" not in model.tables:
            return gap
        normal = _normal(model, triple[1])
        return gap - (gap @ normal) * normal

    while epoch < update.jump_rounds and not stable:
        stable = True
        false = _false(draws, given, update.initial_negatives or 4, epoch)
        for at, triple in enumerate(some):
            for drawn in false:
                direction = way(triple)
                if length(way(drawn[at])) < length(direction):
                    vector = vector + update.jump_size * direction
                    jumps += 1
                    stable = False
        epoch += 1
    return vector, jumps, stable


JUMPERS = [
    pytest.param("transe", "entity", id="transe-entity"),
    pytest.param("transe", "relation", id="transe-relation"),
    pytest.param("transh", "entity", id="transh-entity"),
]


@pytest.mark.parametrize(("name", "kind"), JUMPERS)
@every_norm
@pytest.mark.parametrize(
    "update",
    [
        UpdateSettings("jumps"),
        UpdateSettings("jumps", initial_negatives=1, jump_rounds=3, jump_size=0.75),
        UpdateSettings("jumps", jump_rounds=1),
    ],
    ids=["default", "few", "one round"],
)
def test_jumps_are_those_of_the_algorithm(
    name: str, kind: Kind, norm: Norm, update: UpdateSettings
) -> None:
    model, triples = _model(name, norm), TRIPLES[kind]
    given, draws = evidence(kind, triples), _draws(model, triples)
    best = _placed(model, given, draws, initial_vectors="best")
    place(model, given, draws, update)
    jumps = 0
    for row, some in triples.items():
        alone = evidence(kind, {row: some})
        expected, count, _ = _jumped(model, alone, draws, best[row], update)
        np.testing.assert_allclose(model.tables[kind][row].numpy(), expected, atol=1e-5)
        jumps += count
    assert jumps > 0


def test_jumps_end_when_a_round_brings_none() -> None:
    """A triple alone is where it wants to be, so nothing is nearer."""
    model = _model("transe")
    triples = {11: [(11, 3, 4)]}
    given, draws = evidence("entity", triples), _draws(model, triples)
    best = _placed(model, given, draws, initial_vectors="best")[11]
    vector, jumps, stable = _jumped(model, given, draws, best, UpdateSettings("jumps"))
    assert (jumps, stable) == (0, True)
    np.testing.assert_array_equal(vector, best)
    np.testing.assert_array_equal(_placed(model, given, draws, initial_vectors="jumps")[11], best)


def test_a_false_triple_that_wants_the_same_place_makes_no_jump() -> None:
    """Neither is nearer: survivors may share a vector."""
    model = _model("transe")
    model.tables["entity"][:] = model.tables["entity"][0].clone()
    model.tables["relation"][1] += 1.0
    triples = {10: [(10, 0, 4), (10, 1, 4)]}
    given, draws = evidence("entity", triples), _draws(model, triples)
    best = _placed(model, given, draws, initial_vectors="best")[10]
    np.testing.assert_array_equal(_placed(model, given, draws, initial_vectors="jumps")[10], best)


def test_no_rounds_leave_the_best_place() -> None:
    model, triples = _model("transe"), TRIPLES["entity"]
    given, draws = evidence("entity", triples), _draws(model, triples)
    best = _placed(model, given, draws, initial_vectors="best")
    none = _placed(model, given, draws, initial_vectors="jumps", jump_rounds=0)
    for row, vector in best.items():
        np.testing.assert_array_equal(none[row], vector)


@pytest.mark.parametrize("start", ["balance", "jumps"])
def test_where_no_false_triple_exists_the_best_place_stays(start: InitialVectors) -> None:
    model = _model("transe")
    triples = {10: [(e, 0, 10) for e in OLD]}
    given, draws = evidence("entity", triples), _draws(model, triples)
    best = _placed(model, given, draws, initial_vectors="best")[10]
    found = _placed(model, given, draws, initial_vectors=start)[10]
    np.testing.assert_allclose(found, best, atol=1e-7)


@pytest.mark.parametrize("start", ["best", "balance", "jumps"])
@pytest.mark.parametrize(("name", "kind"), JUMPERS)
def test_an_element_is_placed_alike_alone_and_among_others(
    start: InitialVectors, name: str, kind: Kind
) -> None:
    triples = TRIPLES[kind]
    together = _model(name)
    draws = _draws(together, triples)
    placed = _placed(together, evidence(kind, triples), draws, initial_vectors=start)
    for row, some in triples.items():
        alone = _placed(_model(name), evidence(kind, {row: some}), draws, initial_vectors=start)
        np.testing.assert_allclose(alone[row], placed[row], atol=1e-6)


def test_many_elements_are_placed_block_by_block() -> None:
    count = 600
    settings = ModelSettings("transh", WIDTH)
    model = TransH.random(settings, OLD[-1] + 1 + count, 4, torch.Generator().manual_seed(1))
    assert isinstance(model, TransH)
    first = OLD[-1] + 1
    triples = {
        first + i: [(i % 10, i % 4, first + i), (first + i, (i + 1) % 4, (i + 3) % 10)]
        for i in range(count)
    }
    placed = _placed(
        model, evidence("entity", triples), _draws(model, triples), initial_vectors="best"
    )
    for row in (first, first + 255, first + 256, first + count - 1):
        alone = {row: triples[row]}
        again = _placed(
            model, evidence("entity", alone), _draws(model, triples), initial_vectors="best"
        )
        np.testing.assert_allclose(placed[row], again[row], atol=1e-6)


def test_a_hub_is_placed_without_a_matrix_for_each_of_its_triples() -> None:
    width, count = 20, 2000
    settings = ModelSettings("transh", width)
    model = TransH.random(settings, count + 1, 2, torch.Generator().manual_seed(1))
    assert isinstance(model, TransH)
    given = evidence("entity", {count: [(entity, entity % 2, count) for entity in range(count)]})
    draws = for_model(model, [], range(count))
    with Largest() as largest:
        place(model, given, draws, UpdateSettings("best"))
    doubles = largest.bytes / 8
    assert count * width <= doubles < count * width**2 / 4

"""The Normalized Mean Change against its equation, in blocks, and estimated."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from kgsync.config import ModelSettings
from kgsync.errors import UndefinedMetricError
from kgsync.evaluation.stability import MeanChange, model_change, normalized_mean_change
from kgsync.graph.active import Active
from kgsync.graph.hashing import Hashes
from kgsync.models import model_class
from kgsync.models.base import Kind, Model
from tests.evaluation.memory import Largest

RANDOM = np.random.default_rng(0)


def _vectors(count: int, width: int, seed: int = 0, moved: float = 0.1) -> tuple[Tensor, Tensor]:
    """Old and new vectors; some elements move a lot, most of them little."""
    generator = torch.Generator().manual_seed(seed)
    new = torch.randn(count, width, generator=generator) + 3.0
    far = torch.rand(count, 1, generator=generator) ** 4
    return new + moved * far * torch.randn(count, width, generator=generator), new


def _by_the_equation(old: Tensor, new: Tensor) -> float:
    before, after = old.double().tolist(), new.double().tolist()
    shared = range(len(after))
    average = sum(math.dist(after[v], after[w]) for v in shared for w in shared) / len(after)
    total = 0.0
    for v in shared:
        total += math.dist(after[v], before[v]) / sum(math.dist(after[v], after[w]) for w in shared)
    return total / average


def _exact(old: Tensor, new: Tensor, memory_mb: int = 256) -> float:
    change = normalized_mean_change(old, new, RANDOM, memory_mb=memory_mb)
    assert (change.sample, change.shared, change.error) == (len(new), len(new), 0.0)
    return change.nmc


@given(
    old=st.lists(st.tuples(*[st.floats(-100, 100, width=32)] * 3), min_size=2, max_size=8),
    data=st.data(),
)
@settings(deadline=None)
def test_it_is_the_equation(old: list[tuple[float, ...]], data: st.DataObject) -> None:
    vector = st.tuples(*[st.floats(-100, 100, width=32)] * 3)
    new = data.draw(st.lists(vector, min_size=len(old), max_size=len(old)))
    spread = max(math.dist(a, b) for a in new for b in new)
    if spread < 1e-3:
        return  # next to undefined
    vectors = torch.tensor(old), torch.tensor(new)
    assert _exact(*vectors) == pytest.approx(_by_the_equation(*vectors), rel=1e-5)


def test_two_elements_by_hand() -> None:
    old, new = torch.tensor([[0.0, 1.0], [4.0, 3.0]]), torch.tensor([[0.0, 0.0], [4.0, 3.0]])
    # The distance is 5, so the mean of the sums is 5; only the first moved, by 1 of 5.
    assert _exact(old, new) == pytest.approx(1 / 5 / 5)


def test_vectors_that_stay_have_no_change() -> None:
    _, new = _vectors(50, 4)
    assert _exact(new, new) == 0.0


def test_it_falls_when_all_vectors_are_scaled() -> None:
    """Moves grow with the scale, and so do both norms: the metric is one over a length."""
    old, new = _vectors(40, 5)
    assert _exact(10 * old, 10 * new) == pytest.approx(_exact(old, new) / 10, rel=1e-5)


def test_blocks_do_not_change_the_result() -> None:
    old, new = _vectors(700, 3)  # 1 MB makes three blocks
    expected = _exact(old, new, memory_mb=64)
    for memory_mb in (1, 2, 3):
        assert _exact(old, new, memory_mb) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(_plain(old, new), rel=1e-12)


def _plain(old: Tensor, new: Tensor) -> float:
    """The equation, row by row."""
    before, after = old.double().numpy(), new.double().numpy()
    sums = np.array([np.sqrt(((after - row) ** 2).sum(1)).sum() for row in after])
    moved = np.sqrt(((after - before) ** 2).sum(1))
    return float((moved / sums).sum() / sums.mean())


def test_single_precision_for_many_vectors_is_close_to_double() -> None:
    old, new = _vectors(4300, 6)
    new += 1000.0  # far from the origin, where single precision would lose the distances
    old += 1000.0
    assert _exact(old, new, memory_mb=8) == pytest.approx(_plain(old, new), rel=1e-4)


@pytest.mark.parametrize("sample", [0, 500])
def test_distances_stay_within_the_memory_allowed(sample: int) -> None:
    old, new = _vectors(4300, 2)
    with Largest() as largest:
        normalized_mean_change(old, new, RANDOM, sample=sample, memory_mb=2)
    assert largest.bytes <= 2 * 2**20


def _outer_ones_move_more(count: int) -> tuple[Tensor, Tensor]:
    """Most elements near the centre, few far out, and each moves as far as it is out."""
    _, new = _vectors(count, 4, seed=3)
    new = (new - new.mean(0)) * torch.linspace(0.1, 3.0, count)[:, None] ** 2
    return new + 0.1 * new * torch.linalg.vector_norm(new, dim=1, keepdim=True), new


@pytest.mark.parametrize("world", [_vectors(400, 4, seed=3), _outer_ones_move_more(400)])
@pytest.mark.parametrize("sample", [40, 150])
def test_an_estimate_is_as_far_off_as_it_says(sample: int, world: tuple[Tensor, Tensor]) -> None:
    old, new = world
    exact = _exact(old, new)
    runs = [
        normalized_mean_change(old, new, np.random.default_rng(seed), sample=sample)
        for seed in range(300)
    ]
    assert {(run.sample, run.shared) for run in runs} == {(sample, 400)}
    off = np.array([run.nmc - exact for run in runs])
    said = np.array([run.error for run in runs])
    assert abs(off.mean()) < 4 * said.mean() / math.sqrt(len(runs))
    assert off.std() == pytest.approx(said.mean(), rel=0.2)
    within = np.abs(off) < 2 * said
    assert 0.88 < within.mean() < 0.99


def test_an_estimate_from_almost_all_is_almost_exact() -> None:
    old, new = _vectors(300, 4)
    nearly = normalized_mean_change(old, new, RANDOM, sample=299)
    assert 0 < nearly.error < 0.01 * nearly.nmc
    assert nearly.nmc == pytest.approx(_exact(old, new), rel=0.02)


@pytest.mark.parametrize("sample", [0, 300, 1000])
def test_a_sample_of_all_is_exact(sample: int) -> None:
    old, new = _vectors(300, 4)
    change = normalized_mean_change(old, new, RANDOM, sample=sample)
    assert change == MeanChange(_exact(old, new), 300, 300, 0.0)


def test_one_element_tells_nothing_about_its_error() -> None:
    old, new = _vectors(30, 4)
    assert normalized_mean_change(old, new, RANDOM, sample=1).error == math.inf


def test_the_same_random_numbers_give_the_same_estimate() -> None:
    old, new = _vectors(100, 4)
    first, again, other = (
        normalized_mean_change(old, new, np.random.default_rng(seed), sample=20)
        for seed in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_elements_have_no_change(count: int) -> None:
    vectors = torch.ones(count, 3)
    with pytest.raises(UndefinedMetricError, match=f"there are {count}"):
        normalized_mean_change(vectors, vectors, RANDOM)


@pytest.mark.parametrize(("count", "sample"), [(2, 0), (37, 0), (37, 5), (5000, 0), (5000, 7)])
def test_equal_vectors_have_no_change(count: int, sample: int) -> None:
    new = torch.randn(1, 7, generator=torch.Generator().manual_seed(1)).repeat(count, 1)
    with pytest.raises(UndefinedMetricError, match="same vector"):
        normalized_mean_change(new + 1, new, RANDOM, sample=sample)


def test_a_few_equal_vectors_do_no_harm() -> None:
    old, new = _vectors(12, 3)
    new[3] = new[4] = new[5]
    assert _exact(old, new) == pytest.approx(_plain(old, new), rel=1e-6)


def _model(name: str, entities: int, relations: int, seed: int) -> Model:
    generator = torch.Generator().manual_seed(seed)
    return model_class(name).random(ModelSettings(name, 4), entities, relations, generator)


def _living(entities: list[int], relations: list[int]) -> Active:
    return Active(np.array(entities, np.int32), np.array(relations, np.int32))


@pytest.mark.parametrize("name", ["transe", "transh", "transd", "rescal"])
def test_models_are_compared_by_the_elements_they_share(name: str) -> None:
    before, after = _living([0, 2, 5, 7], [1, 2, 6]), _living([2, 3, 5, 7, 9], [1, 6, 8])
    old, new = _model(name, 4, 3, seed=1), _model(name, 5, 3, seed=2)
    changes = model_change(old, before, new, after, RANDOM)
    expected = {
        "entity": (old.tables["entity"][[1, 2, 3]], new.tables["entity"][[0, 2, 3]]),
        "relation": (old.tables["relation"][[0, 2]], new.tables["relation"][[0, 1]]),
    }
    for kind, change in changes.items():
        assert change is not None
        assert change.shared == len(expected[kind][0])
        assert change.nmc == pytest.approx(_by_the_equation(*expected[kind]), rel=1e-5)


@pytest.mark.parametrize("table", ["normal", "entity_projection", "relation_projection"])
def test_normals_and_projections_do_not_count(table: str) -> None:
    name = "transh" if table == "normal" else "transd"
    active = _living([0, 1, 2], [0, 1])
    old, new = _model(name, 3, 2, seed=1), _model(name, 3, 2, seed=1)
    new.tables[table] += 1.0
    for change in model_change(old, active, new, active, RANDOM).values():
        assert change is not None
        assert change.nmc == 0.0


def test_a_kind_that_shares_too_little_has_no_change() -> None:
    before, after = _living([0, 1, 2], [0, 1]), _living([0, 1, 2], [1, 2])
    old, new = _model("transe", 3, 2, seed=1), _model("transe", 3, 2, seed=2)
    changes = model_change(old, before, new, after, RANDOM)
    assert changes["entity"] is not None
    assert changes["relation"] is None


def test_a_sample_is_taken_of_both_kinds() -> None:
    many = list(range(50))
    active = _living(many, many)
    old, new = _model("transe", 50, 50, seed=1), _model("transe", 50, 50, seed=2)
    for change in model_change(old, active, new, active, RANDOM, sample=20).values():
        assert change is not None
        assert (change.sample, change.shared) == (20, 50)
        assert change.error > 0


def _few_moved(count: int, moved: int) -> tuple[Tensor, Tensor]:
    old, new = _outer_ones_move_more(count)
    kept = torch.ones(count, dtype=torch.bool)
    kept[torch.randperm(count, generator=torch.Generator().manual_seed(4))[:moved]] = False
    old[kept] = new[kept]
    return old, new


def _change_of_models(
    old: Tensor, new: Tensor, sample: int, hashes: np.ndarray, seed: int = 0
) -> MeanChange:
    models, active = [], Active(*(np.arange(n, dtype=np.int32) for n in (len(old), 2)))
    for table in (old, new):
        tables = {"entity": table, "relation": torch.eye(2, table.shape[1])}
        models.append(model_class("transe")(ModelSettings("transe", table.shape[1]), tables))
    random = np.random.default_rng(seed)
    numbers: dict[Kind, Hashes] = {"entity": hashes, "relation": hashes[:2]}
    found = model_change(
        models[0], active, models[1], active, random, sample=sample, hashes=numbers
    )["entity"]
    assert found is not None
    return found


@pytest.mark.parametrize("moved", [1, 7, 150])
def test_few_that_moved_all_count_and_the_error_is_that_of_the_distances(moved: int) -> None:
    old, new = _few_moved(400, moved)
    exact = _exact(old, new)
    random = np.random.default_rng(1)
    runs = [
        _change_of_models(old, new, 60, random.integers(0, 2**63, 400).astype(np.uint64))
        for _ in range(200)
    ]
    assert {(run.sample, run.shared) for run in runs} == {(60, 400)}
    off = np.array([run.nmc - exact for run in runs])
    said = np.array([run.error for run in runs])
    assert abs(off.mean()) < 0.1 * exact
    assert off.std() == pytest.approx(said.mean(), rel=0.3)
    assert 0.85 < (np.abs(off) < 2 * said).mean() < 1


def test_the_estimate_for_few_depends_on_the_elements_not_on_random_numbers() -> None:
    old, new = _few_moved(400, 5)
    hashes = np.random.default_rng(2).integers(0, 2**63, 400).astype(np.uint64)
    first, second = (_change_of_models(old, new, 50, hashes, seed) for seed in (0, 1))
    assert first == second
    assert first != _change_of_models(old, new, 50, hashes[::-1].copy())


def test_few_that_moved_are_estimated_almost_exactly_from_almost_all() -> None:
    old, new = _few_moved(300, 6)
    hashes = np.random.default_rng(3).integers(0, 2**63, 300).astype(np.uint64)
    nearly = _change_of_models(old, new, 299, hashes)
    assert nearly.nmc == pytest.approx(_exact(old, new), rel=0.02)
    assert 0 < nearly.error < 0.02 * nearly.nmc


def test_nothing_that_moved_is_no_change_without_an_error() -> None:
    _, new = _vectors(300, 4)
    hashes = np.arange(300, dtype=np.uint64)
    assert _change_of_models(new, new.clone(), 50, hashes) == MeanChange(0.0, 300, 50, 0.0)

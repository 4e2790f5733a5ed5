"""The losses that tell an update when to stop: how they are measured, and when again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import torch
from safetensors.numpy import load_file

from kgsync import KGSync, Settings
from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import ModelSettings, TrainingSettings, UpdateSettings
from kgsync.models import model_class
from kgsync.training.initial.vectors import carry_over
from kgsync.training.kept import NOTHING_KEPT, Kept
from kgsync.training.updates import UpdateTask, strategy
from kgsync.training.updates.parts.amounts import Unlearned
from kgsync.training.updates.parts.forgetting import Forgetting
from kgsync.training.updates.parts.losses import (
    UNCHANGED_LOSS,
    UNSEEN_LOSS,
    loss_conditions,
    mean_loss,
)
from kgsync.training.work import SCORES_PER_TRIPLE
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Version, ring
from tests.worlds import GRAPHS, fill, quick_settings

OLD = Version(train=ring(30, 1, 3, 7), validation=((0, 1, 2), (5, 1, 9)))
NEW = replace(OLD, train=(*OLD.train[5:], (30, 0, 4), (6, 1, 30)))


def _updated(settings: Settings, case: ModelCase, name: str, kept: Kept = NOTHING_KEPT) -> Kept:
    problem, active = NEW.problem(settings), OLD.active
    old = case.random(len(active.entities), len(active.relations), dtype=torch.float32)
    phases, change = Phases(SilentListener()), OLD.change_to(NEW)
    model = carry_over(old, active, problem)
    task = UpdateTask(model, active, change, problem, phases, Cost(), kept=kept)
    return strategy(name)(task).kept


def _pairs(count: int, rows: int = 30) -> tuple[Any, Any]:
    random = np.random.default_rng(0)
    positive, negative = random.integers(0, rows, (2, 3, count))
    for triples in (positive, negative):
        triples[1] %= 3
    negative[0, ::7] = -1
    return positive, negative


def _blocks_of(monkeypatch: pytest.MonkeyPatch, triples: int) -> None:
    monkeypatch.setattr("kgsync.training.updates.parts.losses.triples_at_a_time", lambda _: triples)


@pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)
def test_a_loss_is_the_same_in_blocks(case: ModelCase, monkeypatch: pytest.MonkeyPatch) -> None:
    model = case.random(30, 3)
    pairs = _pairs(100)
    whole = mean_loss(model, *pairs, Cost())
    _blocks_of(monkeypatch, 7)
    assert mean_loss(model, *pairs, Cost()) == pytest.approx(whole, rel=1e-6)


def test_the_memory_of_a_loss_is_bounded() -> None:
    settings = ModelSettings("rescal", dimension=50)
    model = model_class("rescal").random(settings, 30, 3, torch.Generator().manual_seed(0))
    gathered: list[int] = []
    rows = model.rows

    def counted(kind: Any, which: Any) -> Any:
        found = rows(kind, which)
        gathered.append(sum(table.nbytes for table in found.values()))
        return found

    model.rows = counted  # type: ignore[assignment,method-assign]
    mean_loss(model, *_pairs(80_000), Cost())
    assert max(gathered) < 50 * 2**20  # 800 MB at once


def test_a_loss_is_measured_again_after_another_margin() -> None:
    case = CASES[0]
    settings = Settings(model=case.settings, update=UpdateSettings(strategy="local"))
    kept = _updated(settings, case, "local")
    conditions = loss_conditions(NEW.problem(settings))
    remembered = kept.number(UNCHANGED_LOSS, *conditions)
    assert remembered is not None
    again = _updated(settings, case, "local", kept)
    assert again.number(UNCHANGED_LOSS, *conditions) == remembered
    wider = replace(settings, model=replace(case.settings, margin=9.0))
    measured = _updated(wider, case, "local", kept)
    for name in (UNCHANGED_LOSS, UNSEEN_LOSS):
        assert measured.number(name, *conditions) is None
        now = measured.number(name, *loss_conditions(NEW.problem(wider)))
        then = kept.number(name, *conditions)
        assert now is not None
        assert then is not None
        assert now > then + 4  # for a margin that grew by far more


def test_a_loss_is_measured_again_after_a_wide_update() -> None:
    case = CASES[0]
    settings = Settings(
        model=case.settings,
        training=TrainingSettings(epochs=5, batches=4),
        update=UpdateSettings(strategy="wide"),
    )
    conditions = loss_conditions(NEW.problem(settings))
    kept = NOTHING_KEPT.with_number(UNCHANGED_LOSS, 1.0, *conditions)
    kept = kept.with_number(UNSEEN_LOSS, 1.0, *conditions).with_number(SCORES_PER_TRIPLE, 40.0)
    after = _updated(settings, case, "wide", kept)
    assert after.number(UNCHANGED_LOSS, *conditions) is None
    assert after.number(UNSEEN_LOSS, *conditions) is None
    assert after.number(SCORES_PER_TRIPLE) == 40.0


def test_rebuilding_aligned_remembers_what_training_from_scratch_took(tmp_path: Path) -> None:
    quick = quick_settings("distmult")  # which is retrained from the old vectors
    settings = replace(quick, update=replace(quick.update, strategy="auto"))
    sync = KGSync(fill(ox.Store(), ["1"]), GRAPHS, state=tmp_path, settings=settings)
    sync.step()

    def known() -> float | None:
        file = tmp_path / f"{sync.status().version:06d}" / "learning" / "kept.safetensors"
        return Kept(load_file(file)).number(SCORES_PER_TRIPLE)

    before = known()
    assert before is not None
    sync.rebuild(aligned=True)
    assert known() == before


def test_unseen_triples_are_measured_again_where_all_vectors_move() -> None:
    case = CASES[0]
    problem = NEW.problem(Settings(model=case.settings))
    model = case.random(31, 2, dtype=torch.float32)
    change = OLD.change_to(NEW)
    forgetting = Forgetting(model, problem, change, np.random.default_rng(0), Unlearned(0.1, 0.1))
    forgetting.recall_unseen(NOTHING_KEPT, Cost())
    before = forgetting._wanted
    model.tables["entity"].mul_(20)
    forgetting.look(Cost())
    assert forgetting._wanted == before
    forgetting.look_at_both(Cost())
    assert forgetting._wanted > 2 * before


def _forgetting_major(old: Version, new: Version) -> Forgetting:
    """What forgets triples that were a large share, and no others."""
    problem = new.problem(Settings(model=CASES[0].settings))
    sizes = len(problem.active.entities), len(problem.active.relations)
    model = CASES[0].random(*sizes, dtype=torch.float32)
    change = old.change_to(new)
    return Forgetting(model, problem, change, np.random.default_rng(0), Unlearned(0.0, 1.0))


def test_a_large_share_of_the_triples_of_an_entity_is_unlearned_in_every_epoch() -> None:
    # Entity 0 loses ten of its eleven triples; 20 and 21, which have many, lose one.
    ring = tuple((i, 0, (i + 1) % 40) for i in range(40))
    spokes = tuple((0, 1, i) for i in range(2, 12))
    chords = tuple((h, 1, t) for h in (20, 21) for t in range(22, 40))
    old = Version(train=(*ring, *spokes, *chords, (20, 0, 21)))
    new = Version(train=(*ring, *chords))
    forgetting = _forgetting_major(old, new)
    for _ in range(3):
        _, negative = forgetting.pairs()
        assert sorted(zip(*negative.tolist(), strict=True)) == sorted(spokes)


def test_a_small_share_of_the_triples_of_its_entities_is_not_unlearned_to_the_end() -> None:
    ring = tuple((i, 0, (i + k) % 40) for i in range(40) for k in (1, 2, 3, 5, 7, 9))
    old, new = Version(train=ring), Version(train=ring[1:])
    forgetting = _forgetting_major(old, new)
    assert not forgetting.pairs()[1].shape[1]


def test_triples_lost_to_deleted_entities_count_as_lost() -> None:
    ring = tuple((i, 0, (i + 1) % 40) for i in range(40))
    kept = tuple((0, 1, i) for i in range(2, 10))
    lost = tuple((0, 1, i) for i in range(50, 60))  # whose tails go, too
    old = Version(train=(*ring, *kept, *lost, (0, 1, 20)))
    new = Version(train=(*ring, *kept))
    forgetting = _forgetting_major(old, new)
    assert forgetting.pairs()[1].T.tolist() == [[0, 1, 20]]

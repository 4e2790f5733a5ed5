"""Local updates: only what the change concerns moves, and what is owed is kept."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest
import torch
from safetensors.numpy import load_file

from kgsync import KGSync, Settings
from kgsync.common.cost import Cost
from kgsync.common.listener import Phases, SilentListener
from kgsync.config import UpdateSettings
from kgsync.errors import StateCorruptedError
from kgsync.training.initial.vectors import carry_over
from kgsync.training.kept import NOTHING_KEPT, Kept
from kgsync.training.progress import TrainingRun
from kgsync.training.updates import UpdateTask, strategy
from kgsync.training.updates.parts.concern import concern_of
from kgsync.training.updates.parts.damping import DampedRows
from tests.models.cases import CASES, EVERY_CASE, ModelCase
from tests.training.graphs import Triple, Version
from tests.worlds import GRAPHS, fill, quads, quick_settings, ring

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

RING: tuple[Triple, ...] = tuple((i, i % 2, (i + 1) % 30) for i in range(30))
CHORDS: tuple[Triple, ...] = tuple((i, 0, (i + 7) % 30) for i in range(30))
OLD = Version(train=RING + CHORDS, validation=((0, 1, 2), (5, 1, 9)))
# One triple goes, one comes, and entity 30 arrives.
NEW = replace(OLD, train=(*(RING + CHORDS)[1:], (3, 1, 12), (30, 0, 4), (4, 1, 30)))
CHANGED = {0, 1, 3, 12, 4, 30}


def _settings(case: ModelCase) -> Settings:
    return Settings(model=case.settings, update=UpdateSettings(strategy="local"))


def _updated(
    case: ModelCase, old: Version = OLD, new: Version = NEW, kept: Kept = NOTHING_KEPT
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor], TrainingRun, Cost]:
    """The tables carried over, those after the update, and what was done."""
    problem, cost, active = new.problem(_settings(case)), Cost(), old.active
    before = case.random(len(active.entities), len(active.relations), dtype=torch.float32)
    model = carry_over(before, active, problem)
    carried = model.copy_tables()
    phases = Phases(SilentListener())
    task = UpdateTask(model, active, old.change_to(new), problem, phases, cost, kept=kept)
    return carried, model.tables, strategy("local")(task), cost


@every_model
def test_only_rows_that_the_change_concerns_move(case: ModelCase) -> None:
    carried, tables, run, _ = _updated(case)
    assert run.touched is not None
    assert set(run.touched["entity"].tolist()) <= CHANGED
    moved = {
        int(row)
        for name, table in tables.items()
        if name.startswith("entity")
        for row in (carried[name] != table).any(dim=1).nonzero().flatten()
    }
    assert moved
    assert moved <= CHANGED  # rows are ids here
    assert 30 in moved
    for name, table in tables.items():
        if name.startswith("relation"):
            assert torch.equal(carried[name], table), "few triples of the relations have changed"


def test_a_change_of_held_out_triples_alone_moves_nothing() -> None:
    new = replace(OLD, validation=((0, 1, 2),))
    carried, tables, run, cost = _updated(EVERY_CASE[0], new=new)
    assert all(torch.equal(carried[name], tables[name]) for name in tables)
    assert run.epochs == 0
    assert cost.score_evaluations == 0


def test_what_is_kept_follows_the_rows_if_nothing_moves() -> None:
    case = next(case for case in CASES if case.settings.name == "distmult")
    *_, first, _ = _updated(case)
    kept = first.kept.states()["entity"]
    # Entities 2 and 31 are only in held-out triples: 2 goes, 31 comes, and rows are renumbered.
    gone = tuple(triple for triple in NEW.train if 2 not in triple)
    before = replace(NEW, train=gone, validation=((0, 1, 2),))
    after = replace(NEW, train=gone, validation=((0, 1, 31),))
    *_, second, _ = _updated(case, before, after, first.kept)
    assert second.epochs == 0
    rows = {int(entity): row for row, entity in enumerate(after.active.entities)}
    then = {int(entity): row for row, entity in enumerate(before.active.entities)}
    states = second.kept.states()["entity"]
    assert len(states) == len(rows)
    for entity in set(rows) & set(then):
        assert np.array_equal(states[rows[entity]], kept[then[entity]])


def test_an_entity_with_many_triples_takes_a_share_of_each_step() -> None:
    spokes = tuple((0, 0, i) for i in range(1, 2000))
    old = Version(train=(*spokes, *CHORDS))
    new = replace(old, train=(*old.train, (0, 0, 2000), (5, 1, 9)))
    case = EVERY_CASE[0]
    problem = new.problem(_settings(case))
    concern = concern_of(old.change_to(new), problem, NOTHING_KEPT)
    model = case.random(2001, 2, dtype=torch.float32)
    before = model.copy_tables()["entity"]
    with DampedRows(model, concern):
        model.tables["entity"] += 1.0
    moved = (model.tables["entity"] - before).mean(1)
    assert moved[0] == pytest.approx((16 / (len(spokes) + 3)) ** 0.5, abs=1e-3)  # 1 of its triples
    assert moved[5] == pytest.approx(1.0)  # 1 of 4
    assert moved[2000] == pytest.approx(1.0)  # it is new


def test_small_changes_add_up_until_a_row_is_trained_on_all_of_its_triples() -> None:
    problem = NEW.problem(_settings(EVERY_CASE[0]))
    change = OLD.change_to(NEW)
    concern = concern_of(change, problem, NOTHING_KEPT)
    # Entity 3 has five triples, one of them new: 20 %. Entity 30 is new.
    assert concern.partly[3]
    assert concern.whole.entities[30]
    assert concern.kept.debt("entity", problem.active.entities)[3] == 1
    assert concern.kept.debt("entity", problem.active.entities)[30] == 0
    again = concern_of(change, problem, concern.kept)
    assert again.whole.entities[3]  # 2 of 5
    assert again.kept.debt("entity", problem.active.entities)[3] == 0


def test_a_hub_that_gains_one_triple_is_not_trained_on_all_of_its_triples() -> None:
    spokes = tuple((0, 0, i) for i in range(1, 2000))
    old = Version(train=spokes)
    new = replace(old, train=(*spokes, (0, 0, 2000)))
    *_, cost = _updated(EVERY_CASE[0], old, new)
    whole = 2 * 30 * len(spokes)  # scores of thirty epochs over all triples
    # What unchanged triples look like is measured once, and not counted here.
    assert cost.score_evaluations - 2 * 4 * len(spokes) < whole / 10


def _sync(store: ox.Store, folder: Path, model: str = "distmult") -> KGSync:
    quick = quick_settings(model)
    settings = replace(
        quick,
        update=replace(quick.update, strategy="local"),
        source=replace(quick.source, max_removed=1.0),
        state=replace(quick.state, keep=20),
    )
    return KGSync(store, GRAPHS, state=folder, settings=settings)


def _contents(state: Path, version: int) -> dict[str, str]:
    folder = state / f"{version:06d}"
    return {
        file.relative_to(folder).as_posix(): sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file() and file.name not in ("manifest.json", "sidecar.json")
    }


@pytest.mark.parametrize("model", ["transe", "distmult"])
def test_what_is_kept_is_part_of_the_version(model: str, tmp_path: Path) -> None:
    store = fill(ox.Store())
    sync = _sync(store, tmp_path / "warm", model)
    assert [report.version for report in sync.catch_up()] == [1, 2, 3, 4]
    kept = "learning/kept.safetensors"
    assert kept in _contents(tmp_path / "warm", 2)
    # The same versions, each by another object, and with a detour.
    for version in range(1, 5):
        cold = _sync(store, tmp_path / "cold", model)
        assert cold.step().version == version
    cold.rollback(2)
    assert [report.version for report in cold.catch_up()] == [5, 6]
    for version in range(1, 5):
        assert _contents(tmp_path / "warm", version) == _contents(tmp_path / "cold", version)
    for here, there in ((3, 5), (4, 6)):  # after the rollback
        for name in (kept, "embeddings/tensors.safetensors"):
            first, again = (
                load_file(tmp_path / "cold" / f"{version:06d}" / name) for version in (here, there)
            )
            assert first.keys() == again.keys()
            assert all(np.array_equal(first[array], again[array]) for array in first)


def test_one_triple_that_comes_and_goes_costs_little_each_time(tmp_path: Path) -> None:
    store = ox.Store()
    sync = _sync(store, tmp_path / "state", "transe")
    edges = ring(40)
    for number in range(50):
        extra = [("e0", "skip", "e20")] if number % 2 else []
        store.extend(quads(str(number), [*edges, *extra]))
    reports = sync.catch_up()
    assert len(reports) == 50
    scores = [report.cost.score_evaluations for report in reports[2:]]
    assert max(scores) < reports[0].cost.score_evaluations
    kept = [file.stat().st_size for file in (tmp_path / "state").rglob("kept.safetensors")]
    assert max(kept) < 10_000


def test_a_damaged_memory_of_updates_is_noticed(tmp_path: Path) -> None:
    store = fill(ox.Store(), ["1", "2"])
    sync = _sync(store, tmp_path / "state")
    sync.catch_up()
    file = tmp_path / "state" / "000002" / "learning" / "kept.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    fill(store, ["10"])
    with pytest.raises(StateCorruptedError, match="checksum"):
        sync.step()

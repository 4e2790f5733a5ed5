"""Records of moves: what they say, how long they stay, and what damage and kills do to them."""

from __future__ import annotations

import errno
import os
import random
import signal
import tarfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from kgsync import KGSync
from kgsync.cli.commands.demo import GRAPHS as DEMO_GRAPHS
from kgsync.cli.demo_graph import HEROINE
from kgsync.config import PublishSettings, StateSettings
from kgsync.errors import ConfigError, StateCorruptedError, StateWriteError, UnknownTermError
from kgsync.graph.active import Active
from kgsync.graph.versions import GraphVersion
from kgsync.state.delta import RowChange, Rows, row_changes
from kgsync.state.manifest import Manifest
from kgsync.state.moves import Moves, Record
from kgsync.state.report import StepReport
from tests.processes import exit_code
from tests.saved.histories import FOLDER, demo_store, settings
from tests.state.sidecars import embeddings, make_sync
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, iri, quick_settings, versions


def records(sync: KGSync) -> list[str]:
    return sorted(path.name for path in (sync.state.path / "moves").iterdir())


def with_state(sync: KGSync, **chosen: Any) -> KGSync:
    sync.settings = replace(sync.settings, state=StateSettings(**chosen))
    return sync


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> KGSync:
    sync = make_sync(tmp_path_factory.mktemp("four"))
    assert [report.version for report in sync.catch_up()] == [1, 2, 3, 4]
    return sync


def test_what_moved_is_what_the_files_say(four: KGSync) -> None:
    for kind, names in (
        ("entity", [f"e{i}" for i in range(40)] + ["new"]),
        ("relation", ["next", "skip", "back", "likes"]),
    ):
        for name in names:
            told = {
                (move.version, move.change, move.distance)
                for move in four.moves(iri(name), kind)  # type: ignore[arg-type]
                if move.change
            }
            expected = {
                (version, row["change"], row["distance"])
                for version in (1, 2, 3, 4)
                for row in pq.read_table(embeddings(four, version) / "delta.parquet").to_pylist()
                if (row["iri"], row["kind"]) == (iri(name), kind)
            }
            assert told == expected
            assert told


def test_the_triples_around_an_element_are_those_of_the_change(four: KGSync) -> None:
    names = ["1", "2", "10", "11"]
    for kind, name in (("entity", "new"), ("entity", "e9"), ("entity", "e2"), ("relation", "back")):
        moves = {move.version: move for move in four.moves(iri(name), kind)}  # type: ignore[arg-type]
        for number, (old, new) in enumerate(pairwise(names), start=2):
            before, after = set(versions()[old]), set(versions()[new])
            for found, changed in (("added", after - before), ("deleted", before - after)):
                ends = (0, 2) if kind == "entity" else (1,)
                around = {tuple(map(iri, e)) for e in changed if name in [e[i] for i in ends]}
                move = moves.get(number)
                assert set(getattr(move, found) if move else ()) == around


def test_a_deleted_element_is_still_told_of(four: KGSync) -> None:
    first, last = four.moves(iri("e9"))
    assert (first.version, first.change, first.previous) == (1, "added", None)
    assert not first.added  # all triples are new in the first version
    assert (last.version, last.change, last.distance) == (2, "deleted", None)
    assert last.deleted
    assert last.quality == four.history()[1].quality
    assert (last.action, last.graph_version) == ("updated", GRAPHS.format(version="2"))
    with pytest.raises(UnknownTermError, match="no entity"):
        four.moves(iri("nobody"))
    with pytest.raises(ConfigError, match="kind"):
        four.moves(iri("e1"), "triple")  # type: ignore[arg-type]


def test_the_report_counts_the_vectors_that_were_rewritten(four: KGSync) -> None:
    for report in four.history()[1:]:
        assert report.rewritten is not None
        delta = pq.read_table(embeddings(four, report.version or 0) / "delta.parquet").to_pylist()
        for kind in ("entity", "relation"):
            changes = [row["change"] for row in delta if row["kind"] == kind]
            size = report.entities if kind == "entity" else report.relations
            assert report.rewritten[kind] == {
                "moved": changes.count("moved"),
                "shared": size - changes.count("added"),
            }
    assert four.history()[0].rewritten is None


def test_records_outlive_the_files_and_have_a_retention_of_their_own(tmp_path: Path) -> None:
    sync = with_state(make_sync(tmp_path), keep=1, history=3)
    sync.step()
    before = sync.moves(iri("e2"))
    sync.catch_up()
    assert sync.status().retained == (4,)
    assert records(sync) == ["000002.parquet", "000003.parquet", "000004.parquet"]
    assert [move.version for move in before] == [1]
    assert {move.version for move in sync.moves(iri("e2"))} == {2, 3}
    assert sync.moves(iri("e9"))[-1].change == "deleted"


def test_all_records_stay_if_they_shall(tmp_path: Path) -> None:
    sync = with_state(make_sync(tmp_path), keep=1, history=0)
    sync.catch_up()
    assert len(records(sync)) == 4


def test_what_was_rolled_back_is_kept_and_not_told(tmp_path: Path) -> None:
    sync = make_sync(tmp_path)
    sync.catch_up()
    sync.rollback(1)
    assert [move.version for move in sync.moves(iri("e2"))] == [1]
    with pytest.raises(UnknownTermError):
        sync.moves(iri("new"))  # it came later
    assert len(records(sync)) == 4
    sync.step()
    assert [(move.version, move.previous) for move in sync.moves(iri("e2"))] == [(1, None), (5, 1)]
    assert len(records(sync)) == 5


def test_a_rebuild_is_told_as_a_move(tmp_path: Path) -> None:
    sync = make_sync(tmp_path)
    sync.step()
    sync.rebuild()
    last = sync.moves(iri("e2"))[-1]
    assert (last.version, last.action, last.change) == (2, "rebuilt", "moved")
    lost = {triple[1] for triple in last.deleted}
    assert lost == {iri("back")}
    sync.rebuild()
    assert sync.moves(iri("e2"))[-1].version == 2, "the same vectors again"


@pytest.mark.parametrize("seed", range(8))
def test_a_flipped_bit_is_an_error_that_names_the_file(four: KGSync, seed: int) -> None:
    path = four.state.path / "moves" / "000003.parquet"
    whole = path.read_bytes()
    damaged = bytearray(whole)
    chosen = random.Random(seed)
    damaged[chosen.randrange(len(damaged))] ^= 1 << chosen.randrange(8)
    path.write_bytes(damaged if seed else whole[: len(whole) // 2])
    try:
        with pytest.raises(StateCorruptedError, match=r"000003\.parquet does not match"):
            four.moves(iri("new"))
    finally:
        path.write_bytes(whole)
    assert four.moves(iri("new"))


def test_a_record_that_is_gone_is_left_out(tmp_path: Path) -> None:
    sync = make_sync(tmp_path)
    sync.catch_up()
    (tmp_path / "state/moves/000002.parquet").unlink()
    assert [move.version for move in sync.moves(iri("e2"))] == [1, 3]
    (tmp_path / "state/moves/000003.parquet").unlink()
    (tmp_path / "state/moves/000003.parquet").mkdir()
    with pytest.raises(StateCorruptedError, match="cannot read"):
        sync.moves(iri("e2"))


def test_a_state_of_an_earlier_release_has_records_from_now_on(tmp_path: Path) -> None:
    with tarfile.open(FOLDER / "state-named-seeds.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    store = demo_store(tmp_path)
    sync = KGSync(store, DEMO_GRAPHS, state=tmp_path / "state", settings=settings("transe", "cpu"))
    assert sync.moves(HEROINE) == []
    assert all(report.learned is None for report in sync.history())
    sync.step()
    (move,) = sync.moves(HEROINE)
    assert (move.version, move.change) == (4, "moved")
    assert sync.history()[-1].learned is not None


def killed_sync(folder: Path) -> KGSync:
    chosen = replace(quick_settings(), publish=PublishSettings(metadata=False))
    return KGSync(folder / "kg", GRAPHS, state=folder / "state", settings=chosen)


def step_killed(folder: Path, moment: str) -> None:
    """Die before, while or after a record is written, or before the old ones are removed."""
    write, drop = Moves.write, Moves.drop

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def dying(self: Moves, record: Record) -> dict[str, Any]:
        if moment == "before":
            die()
        about = write(self, record)
        if moment == "while":
            path = folder / "state/moves" / f"{record.version:06d}.parquet"
            path.write_bytes(path.read_bytes()[:100])
        die()
        return about

    if moment == "retention":
        Moves.drop = lambda *_: die()  # type: ignore[method-assign]
    else:
        Moves.write = dying  # type: ignore[method-assign]
    try:
        with_state(killed_sync(folder), history=1).step(allow_large_removal=True)
    finally:
        Moves.write, Moves.drop = write, drop  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "moment",
    thinned(["before", "while", "after", "retention"], {"while", "retention"}.__contains__),
)
def test_a_kill_leaves_the_records_of_what_is_committed(tmp_path: Path, moment: str) -> None:
    disk_store(tmp_path / "kg", ["1", "2", "10"])
    sync = killed_sync(tmp_path)
    sync.step()
    assert exit_code(step_killed, tmp_path, moment) == -signal.SIGKILL
    survivor = killed_sync(tmp_path)
    committed = 2 if moment == "retention" else 1
    assert survivor.status().version == committed
    assert [move.version for move in survivor.moves(iri("e2"))] == [*range(1, committed + 1)]
    last = survivor.catch_up(allow_large_removal=True)[-1]
    assert last.version == 3
    assert [move.version for move in survivor.moves(iri("e2"))] == [1, 2, 3]
    assert records(survivor) == [f"00000{number}.parquet" for number in (1, 2, 3)]


def test_a_full_disk_leaves_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync = make_sync(tmp_path)
    sync.step()

    def full(table: Any, file: Any, **_: Any) -> None:
        if table.schema.names[-1] == "distance" and "tail" in table.schema.names:
            file.write(b"PAR1")
            raise OSError(errno.ENOSPC, "no space left")
        write_table(table, file, **_)

    write_table = pq.write_table
    with monkeypatch.context() as patch:
        patch.setattr("kgsync.state.moves.pq.write_table", full)
        with pytest.raises(StateWriteError, match="free some space"):
            sync.step()
    assert records(sync) == ["000001.parquet"]
    assert sync.status().version == 1
    assert sync.step().version == 2
    assert records(sync) == ["000001.parquet", "000002.parquet"]


def record_of(moved: int) -> Record:
    """A record of an update in which many rows moved."""
    ids = np.arange(moved, dtype=np.int32)
    distance = np.random.default_rng(0).random(moved, np.float32)
    source = GraphVersion("http://example.org/kg/2", "http://example.org/kg/2")
    manifest = Manifest(2, 1, vars(source), "2026-01-01T00:00:00+00:00", {}, {}, 0, {}, {}, {})
    changes = [RowChange("entity", "moved", ids, distance)]
    return Record.of(manifest, StepReport("updated"), changes, None)


def test_a_record_is_little_more_than_its_distances(tmp_path: Path) -> None:
    about = Moves(tmp_path).write(record_of(100_000))
    assert about["bytes"] < 4.5 * 100_000
    read = pq.read_table(tmp_path / "moves" / "000002.parquet")
    assert np.array_equal(read["id"].to_numpy(), np.arange(100_000))


def test_rows_that_cannot_be_compared_have_no_distance() -> None:
    active = Active(np.array([1, 2], np.int32), np.array([0], np.int32))
    wide = {"entity": np.ones((2, 4), np.float32), "relation": np.ones((1, 4), np.float32)}
    changes = row_changes(Rows(active, {}), Rows(active, wide))
    moved = [change for change in changes if change.change == "moved"]
    assert [(change.kind, change.distance) for change in moved] == [
        ("entity", None),
        ("relation", None),
    ]

"""Files that were rewritten after the version made from them was committed."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from kgsync import KGSync
from kgsync.config import Settings
from kgsync.state.report import StepReport
from tests.adapters.test_files import Parts, numbered, write
from tests.graph.graphs import EX
from tests.worlds import quick_settings, versions

HISTORY = [
    sorted(f"<{EX}{s}> <{EX}{p}> <{EX}{o}> ." for s, p, o in version)
    for version in versions().values()
]
EXTRA = f"<{EX}late> <{EX}p> <{EX}alice> ."


def at_once() -> Settings:
    """Settings that take files as soon as they are there."""
    settings = quick_settings()
    return replace(settings, source=replace(settings.source, quiet_period="0s"))


def sync_of(folder: Path) -> KGSync:
    return KGSync(folder / "kg", state=folder / "state", settings=at_once())


def history(folder: Path) -> KGSync:
    """A base and two changes, committed."""
    made: list[Parts] = [
        ([], sorted(set(old) - set(new)), sorted(set(new) - set(old)), [])
        for old, new in pairwise(HISTORY[:3])
    ]
    numbered(folder / "kg", HISTORY[0], made)
    sync = sync_of(folder)
    assert len(sync.catch_up(allow_large_removal=True)) == 3
    return sync


def next_change(folder: Path) -> None:
    old, new = map(set, HISTORY[2:4])
    write(folder / "kg/changes/0003.added.nt", sorted(new - old))
    write(folder / "kg/changes/0003.removed.nt", sorted(old - new))


def edges_of(report: StepReport) -> int:
    return sum(report.triples.values())


def rewritten(folder: Path) -> str:
    write(folder / "kg/base.nt.gz", [*HISTORY[0], EXTRA])
    return "base.nt.gz"


def part_that_came_late(folder: Path) -> str:
    write(folder / "kg/changes/0001.reinserted.nt", [EXTRA])
    return "changes/0001.reinserted.nt"


@pytest.mark.parametrize("change", [rewritten, part_that_came_late], ids=lambda c: c.__name__)
def test_what_was_rewritten_is_taken_with_the_next_version(
    tmp_path: Path, change: Callable[[Path], str]
) -> None:
    sync = history(tmp_path)
    name = change(tmp_path)
    assert sync.plan().graph_version is None
    (warning,) = sync.plan().warnings
    assert name in warning
    assert "`kgsync rebuild` takes it now" in warning
    assert sync.step().warnings == (warning,)
    assert warning in str(sync.plan())
    next_change(tmp_path)
    plan = sync.plan()
    assert (plan.way, plan.graph_version) == ("scan", "file:changes/0003")
    assert plan.reason == f"files of the committed version have changed: {name}"
    report = sync.step(allow_large_removal=True)
    assert (report.action, report.way) == ("updated", "scan")
    assert edges_of(report) == len({*HISTORY[3], EXTRA})
    assert [w for w in report.warnings if name in w and "read completely" in w]
    assert sync.step().warnings == ()


def test_a_rebuild_takes_it_at_once(tmp_path: Path) -> None:
    sync = history(tmp_path)
    rewritten(tmp_path)
    report = sync.rebuild()
    assert edges_of(report) == len({*HISTORY[2], EXTRA})
    assert sync.step().warnings == ()
    next_change(tmp_path)
    assert sync.plan().way == "changes"


def test_a_file_that_was_only_touched_costs_a_full_read_and_nothing_else(tmp_path: Path) -> None:
    sync = history(tmp_path)
    os.utime(tmp_path / "kg/changes/0001.added.nt.gz", ns=(1, 1))
    next_change(tmp_path)
    report = sync.step(allow_large_removal=True)
    assert report.way == "scan"
    assert edges_of(report) == len(HISTORY[3])
    assert [w for w in report.warnings if "changes/0001.added.nt.gz" in w]
    twin = tmp_path / "twin"
    twin.mkdir()
    history(twin)
    next_change(twin)
    plain = sync_of(twin).step(allow_large_removal=True)
    assert (plain.way, plain.change, plain.triples) == ("changes", report.change, report.triples)


def test_untouched_files_are_read_as_changes(tmp_path: Path) -> None:
    history(tmp_path)
    next_change(tmp_path)
    sync = sync_of(tmp_path)
    assert (sync.plan().way, sync.plan().warnings) == ("changes", ())


def test_after_a_rollback_the_next_version_is_read_whole(tmp_path: Path) -> None:
    sync = history(tmp_path)
    sync.rollback(2)
    plan = sync.plan()
    assert (plan.graph_version, plan.way, plan.warnings) == ("file:changes/0002", "scan", ())
    assert "not known" in plan.reason


def test_a_state_without_notes_goes_on_as_before(tmp_path: Path) -> None:
    sync = history(tmp_path)
    (tmp_path / "state/files.json").unlink()
    next_change(tmp_path)
    assert sync.plan().way == "changes"


def test_a_rewritten_dump_is_told_and_an_old_one_may_go(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / f"kg/kg-{number}.nt", HISTORY[number])
    sync = sync_of(tmp_path)
    sync.catch_up(allow_large_removal=True)
    (tmp_path / "kg/kg-1.nt").unlink()
    assert sync.step().warnings == ()
    write(tmp_path / "kg/kg-2.nt", [*HISTORY[2], EXTRA])
    (warning,) = sync.step().warnings
    assert warning.startswith("kg-2.nt: changed since")


def test_a_single_file_is_live_and_no_reason_to_warn(tmp_path: Path) -> None:
    path = write(tmp_path / "kg.nt", HISTORY[0])
    sync = KGSync(path, state=tmp_path / "state", settings=at_once())
    sync.step()
    write(path, [*HISTORY[0], EXTRA])
    report = sync.step()
    assert (report.action, report.warnings) == ("updated", ())

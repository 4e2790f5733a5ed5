"""Small changes gather: what waits, until when, and what is taken with what."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.config import ScheduleSettings
from kgsync.state.report import StepReport
from tests.worlds import EX, GRAPHS, Edge, iri, quads, quick_settings, ring

LIVE = EX + "live"


def name(version: int | str) -> str:
    return GRAPHS.format(version=version)


def grown(extra: int) -> list[Edge]:
    """The ring with so many edges more."""
    return [*ring(40), *((f"e{i}", "likes", f"e{i + 3}") for i in range(extra))]


def store_of(**versions: int) -> ox.Store:
    """Versions v1, v2, … with so many edges more than the ring."""
    store = ox.Store()
    for version, extra in versions.items():
        store.extend(quads(version, grown(extra)))
    return store


def sync_of(
    store: ox.Store, folder: Path, schedule: ScheduleSettings, graphs: str = GRAPHS
) -> KGSync:
    settings = replace(quick_settings(), schedule=schedule)
    return KGSync(store, graphs, state=folder / "state", settings=settings)


def test_a_small_change_waits_and_is_remembered_by_the_next_process(tmp_path: Path) -> None:
    store = store_of(v1=0, v2=3)
    schedule = ScheduleSettings(min_change=10, max_wait="1h")
    assert sync_of(store, tmp_path, schedule).step().changed  # the first is always taken
    first = sync_of(store, tmp_path, schedule).step()
    assert (first.action, first.changed, first.version) == ("waiting", False, 1)
    assert first.waiting_triples == 3
    assert first.gathered == (name("v2"),)
    assert first.behind == 1
    time.sleep(0.01)
    again = sync_of(store, tmp_path, schedule)
    assert again.step() == first  # it waits since the first look
    assert again.catch_up() == []
    assert again.status().version == 1
    assert StepReport.from_json(first.to_json()) == first
    assert "3 changed triples" in str(first)


def test_the_plan_says_that_it_waits_and_writes_nothing(tmp_path: Path) -> None:
    schedule = ScheduleSettings(min_change=10)
    sync = sync_of(store_of(v1=0, v2=3, v3=4), tmp_path, schedule)
    sync.step()
    plan = sync.plan()
    assert plan.graph_version == name("v3")
    assert plan.gathered == (name("v2"),)
    assert plan.waiting_until is not None
    assert "waiting: 4 changed triples" in str(plan)
    assert not (tmp_path / "state" / "waiting.json").exists()


def test_changes_gather_until_they_are_large_enough(tmp_path: Path) -> None:
    store = store_of(v1=0, v2=3)
    sync = sync_of(store, tmp_path, ScheduleSettings(min_change=10))
    sync.step()
    assert sync.step().action == "waiting"
    store.extend(quads("v3", grown(7)))
    assert sync.step().waiting_triples == 7
    store.extend(quads("v4", grown(12)))
    store.extend(quads("v5", grown(13)))
    report = sync.step()
    assert report.action == "updated"
    assert report.graph_version == name("v4")
    assert report.gathered == (name("v2"), name("v3"))
    assert report.behind == 1
    assert report.change is not None
    assert sum(report.change.added_triples) == 12
    assert name("v2") in str(report)
    assert not report.warnings
    assert sync.history()[-1].gathered == report.gathered
    waiting = sync.step()  # one edge more than v4
    assert waiting.waiting_triples == 1
    assert not waiting.warnings


def test_gathered_versions_are_not_late_but_others_are(tmp_path: Path) -> None:
    store = store_of(v1=0, v2=3, v4=12)
    sync = sync_of(store, tmp_path, ScheduleSettings(min_change=10))
    assert [report.graph_version for report in sync.catch_up()] == [name("v1"), name("v4")]
    assert sync.plan().passed_over == ()
    store.extend(quads("v3", grown(5)))
    assert sync.plan().passed_over == (name("v3"),)


def test_a_change_is_taken_when_it_has_waited_long_enough(tmp_path: Path) -> None:
    schedule = ScheduleSettings(min_change=10, max_wait="0.3s")
    sync = sync_of(store_of(v1=0, v2=3, v3=4), tmp_path, schedule)
    sync.step()
    assert sync.step().action == "waiting"
    time.sleep(0.4)
    report = sync.step()
    assert (report.graph_version, report.gathered) == (name("v3"), (name("v2"),))


def test_now_takes_what_waits(tmp_path: Path) -> None:
    sync = sync_of(store_of(v1=0, v2=3, v3=4), tmp_path, ScheduleSettings(min_change=10))
    sync.step()
    report = sync.step(now=True)
    assert report.changed
    assert report.gathered == (name("v2"),)


def test_a_lower_bound_frees_what_had_waited(tmp_path: Path) -> None:
    store = store_of(v1=0, v2=3, v3=4)
    sync = sync_of(store, tmp_path, ScheduleSettings(min_change=10))
    sync.step()
    assert sync.step().action == "waiting"
    report = sync_of(store, tmp_path, ScheduleSettings(min_change=2)).step()
    assert report.graph_version == name("v2")


def test_a_version_without_a_change_does_not_wait(tmp_path: Path) -> None:
    sync = sync_of(store_of(v1=0, v2=3, v3=0), tmp_path, ScheduleSettings(min_change=10))
    sync.step()
    report = sync.step()
    assert (report.action, report.graph_version) == ("unchanged", name("v3"))
    assert report.gathered == (name("v2"),)


def live(store: ox.Store, edges: list[Edge]) -> None:
    """Make a live graph of these edges."""
    graph = ox.NamedNode(LIVE)
    store.clear_graph(graph)
    store.extend(
        ox.Quad(ox.NamedNode(iri(s)), ox.NamedNode(iri(p)), ox.NamedNode(iri(o)), graph)
        for s, p, o in edges
    )


def test_a_live_graph_gathers_and_starts_anew_when_a_change_is_taken_back(tmp_path: Path) -> None:
    store = ox.Store()
    live(store, grown(0))
    sync = sync_of(store, tmp_path, ScheduleSettings(min_change=10), LIVE)
    sync.step()
    live(store, grown(3))
    assert sync.step().waiting_triples == 3
    live(store, grown(0))
    assert sync.step().action == "nothing new"
    assert not (tmp_path / "state" / "waiting.json").exists()
    live(store, grown(12))
    assert sync.step().action == "updated"


@pytest.mark.parametrize("start", ["oldest", "latest"])
def test_latest_only_skips_to_the_newest(tmp_path: Path, start: str) -> None:
    store = store_of(v1=0, v2=3)
    sync = sync_of(store, tmp_path, ScheduleSettings(latest_only=True))
    sync.settings = replace(sync.settings, source=replace(sync.settings.source, start=start))
    first = sync.step()
    assert (first.graph_version, first.behind) == (name("v2"), 0)
    assert first.gathered == ((name("v1"),) if start == "oldest" else ())
    store.extend(quads("v3", grown(4)))
    store.extend(quads("v4", grown(5)))
    assert sync.plan().graph_version == name("v4")
    (report,) = sync.catch_up()
    assert (report.graph_version, report.gathered) == (name("v4"), (name("v3"),))
    assert sync.plan().passed_over == ()


def test_a_damaged_memory_only_loses_the_time(tmp_path: Path) -> None:
    sync = sync_of(store_of(v1=0, v2=3), tmp_path, ScheduleSettings(min_change=10))
    sync.step()
    for text in ("", "[]", '{"base": 1, "since": "x", "triples": {}}', '{"base": "?"}'):
        (tmp_path / "state" / "waiting.json").write_text(text)
        assert sync.step().waiting_triples == 3

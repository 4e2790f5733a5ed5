"""The figures of a backtest, and the command that makes them."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from kgsync.backtest.plots import _draw, _draw_quality_and_cost
from kgsync.backtest.record import Moment, Record
from kgsync.cli.commands.backtest import backtest
from kgsync.errors import ConfigError
from tests.processes import kgsync
from tests.worlds import GRAPHS, QUICK, disk_store

FIGURES = {
    "quality_and_cost",
    "mrr",
    "hits_at_10",
    "added",
    "deleted",
    "nmc_entities",
    "nmc_relations",
    "seconds",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two versions, a settings file, and a backtest."""
    folder = tmp_path_factory.mktemp("project")
    disk_store(folder / "kg", ["1", "2"])
    (folder / "kgsync.toml").write_text(QUICK.format(graphs=GRAPHS))
    done = kgsync(folder, "backtest", "--models", "transe,distmult")
    assert done.returncode == 0, done.stderr
    for model in ("transe", "distmult"):
        assert f"{model}: compared with retraining from scratch" in done.stdout
    assert "scratch: what the others are compared with" in done.stdout
    return folder


def test_a_backtest_draws_one_figure_a_measure(project: Path) -> None:
    figures = list((project / "backtest" / "figures").iterdir())
    assert {path.stem for path in figures} == FIGURES
    for path in figures:
        assert path.read_bytes().startswith(b"\x89PNG")


def test_the_command_goes_on_and_speaks_json(project: Path) -> None:
    done = kgsync(project, "backtest", "--models", "transe,distmult", "--json", "--no-plots")
    answer = json.loads(done.stdout)
    assert len(answer["records"]) == 2 * 4
    keys = {(summary["model"], summary["method"]) for summary in answer["summary"]}
    methods = ("update", "frozen", "scratch")
    assert keys == {(model, method) for model in ("transe", "distmult") for method in methods}
    assert all(summary["verdict"] for summary in answer["summary"])


def test_what_the_command_prints_fits_a_terminal(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = kgsync(project, "backtest", "--models", "transe,distmult", "--no-plots")
    assert max(map(len, done.stdout.splitlines())) <= 80
    header = next(line for line in done.stdout.splitlines() if line.startswith("method"))
    assert {"MRR", "worst", "added", "deleted", "rewritten", "work"} <= set(header.split())


def test_former_names_are_explained(project: Path) -> None:
    done = kgsync(project, "backtest", "--methods", "retrain", "--out", "former", "--no-plots")
    assert done.returncode == 0, done.stderr
    assert "the method 'retrain' is now called 'scratch'" in done.stderr
    assert "the update strategy 'retrain' is the method 'aligned'" in done.stderr


def test_without_matplotlib_there_are_results_but_no_figures(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(project)
    config, out = Path("kgsync.toml"), Path("plain")
    with pytest.raises(ConfigError, match="figures need matplotlib"):
        backtest(config, out, methods="frozen", plots=True)
    assert not out.exists()  # told before the work
    backtest(config, out, methods="frozen")
    assert "figures need matplotlib" in capsys.readouterr().out
    assert (out / "results.csv").exists()
    assert not (out / "figures").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--models", "transx"], "[model] name must be one of"),
        (["--methods", "dream"], "there is no method 'dream'"),
        (["--last", "7"], "there are versions 0 to 1"),
        (["-c", "none.toml"], "cannot read none.toml"),
    ],
)
def test_wrong_arguments_are_one_sentence(
    project: Path, arguments: list[str], message: str
) -> None:
    done = kgsync(project, "backtest", "--out", "other", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "other").exists()


@pytest.mark.parametrize("measure", ["mrr", "seconds"])
def test_every_model_has_a_panel_of_the_same_scale(measure: str) -> None:
    figure = Figure()
    methods = "train", "update"
    records = [a_record(f"model {n}", method, 10.0 * n) for n in range(5) for method in methods]
    _draw(figure, records, measure)
    training, *panels = figure.axes
    assert [panel.get_title() for panel in panels] == [f"model {n}: history" for n in range(5)]
    assert len({panel.get_ylim() for panel in panels}) == 1
    assert len(training.lines) == 5
    assert (training.get_ylim() == panels[0].get_ylim()) == (measure != "seconds")
    labelled = [number for number, panel in enumerate(figure.axes) if panel.get_ylabel()]
    assert labelled == ([0, 1, 4] if measure == "seconds" else [0, 4])


def test_every_method_is_a_point_of_quality_and_cost() -> None:
    records = [
        a_record("transe", method, mrr, version=version, work=work * version)
        for method, mrr, work in (("scratch", 0.5, 1000), ("local", 0.4, 10), ("frozen", 0.2, 0))
        for version in (1, 2, 3)
    ]
    figure = Figure()
    _draw_quality_and_cost(figure, records)
    panel: Any = figure.axes[0]
    points = {each.get_label(): each.lines[0].get_xydata()[0] for each in panel.containers}
    assert points["local"] == pytest.approx([20.0, 0.8])
    assert points["scratch"] == pytest.approx([2000.0, 1.0])
    free = {str(line.get_label()): line.get_ydata()[0] for line in panel.lines}
    assert free["frozen, no cost"] == pytest.approx(0.4)


def a_record(model: str, method: str, value: float, *, version: int = 0, work: int = 0) -> Record:
    """What a model came to at a version."""
    numbers: dict[str, Any] = dict.fromkeys((field.name for field in fields(Record)), 0)
    moments = tuple(Moment(epoch, 1.0, value, value, None, None) for epoch in (1, 2))
    told = {"model": model, "method": method, "mrr": value, "seconds": value, "moments": moments}
    empty: dict[str, Any] = {
        "groups": {},
        "neighbors": None,
        "phases": {},
        "strategy": None,
        "choice": None,
    }
    return Record(**{**numbers, **empty, **told, "version": version, "score_evaluations": work})

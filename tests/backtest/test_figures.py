"""The figures of a backtest, and the command that makes them."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from kgsync.backtest.plots import _draw
from kgsync.backtest.records import Method, Moment, Record
from kgsync.cli.backtest import run_backtest
from kgsync.errors import ConfigError
from tests.cli.test_cli import QUICK
from tests.processes import kgsync
from tests.worlds import GRAPHS, disk_store

FIGURES = {"mrr", "hits_at_10", "nmc_entities", "nmc_relations", "seconds"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store of two versions, a settings file, and a backtest."""
    folder = tmp_path_factory.mktemp("project")
    disk_store(folder / "kg", ["1", "2"])
    (folder / "kgsync.toml").write_text(QUICK.format(graphs=GRAPHS))
    done = kgsync(folder, "backtest", "--models", "transe,distmult")
    assert done.returncode == 0, done.stderr
    assert "Updating compared with retraining" in done.stdout
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
    assert {summary["model"] for summary in answer["summary"]} == {"transe", "distmult"}


def test_without_matplotlib_there_are_results_but_no_figures(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(project)
    config, out = Path("kgsync.toml"), Path("plain")
    with pytest.raises(ConfigError, match="figures need matplotlib"):
        run_backtest(config, out, [], ["leave"], 0, None, plots=True)
    assert not out.exists()  # told before the work
    run_backtest(config, out, [], ["leave"], 0, None, plots=None)
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
    methods: tuple[Method, ...] = ("train", "update")
    records = [a_record(f"model {n}", method, 10.0 * n) for n in range(5) for method in methods]
    _draw(figure, records, measure, "name")
    training, *panels = figure.axes
    assert [panel.get_title() for panel in panels] == [f"model {n}: history" for n in range(5)]
    assert len({panel.get_ylim() for panel in panels}) == 1
    assert len(training.lines) == 5
    assert (training.get_ylim() == panels[0].get_ylim()) == (measure != "seconds")
    labelled = [number for number, panel in enumerate(figure.axes) if panel.get_ylabel() == "name"]
    assert labelled == ([0, 1, 4] if measure == "seconds" else [0, 4])


def a_record(model: str, method: Method, value: float) -> Record:
    """What a model came to at the first version."""
    numbers: dict[str, Any] = dict.fromkeys((field.name for field in fields(Record)), 0)
    moments = tuple(Moment(epoch, 1.0, value, value, None, None) for epoch in (1, 2))
    told = {"model": model, "method": method, "mrr": value, "seconds": value, "moments": moments}
    return Record(**{**numbers, **told})

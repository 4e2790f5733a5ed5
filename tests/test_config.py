"""Settings that only make sense together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pyoxigraph
import pytest

from kgsync import KGSync
from kgsync.config import (
    FilterSettings,
    ModelSettings,
    RunSettings,
    ScheduleSettings,
    Settings,
    SplitSettings,
    TrainingSettings,
    UpdateSettings,
    load_settings,
)
from kgsync.errors import ConfigError
from kgsync.graph.stores import open_store


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (RunSettings(backend=cast("Any", "cuda")), "[run] backend must be one of auto, cpu, torch"),
        (RunSettings(threads=cast("Any", 1.5)), "[run] threads must be a whole number, not 1.5"),
        (RunSettings(seed=cast("Any", None)), "[run] seed must be a whole number, not None"),
        (ModelSettings(norm=cast("Any", "l3")), "[model] norm must be one of l1, l2, l2sq, not"),
        (TrainingSettings(steps=cast("Any", "pairs")), "[training] steps must be one of batch, p"),
        (
            TrainingSettings(negative_sampling=cast("Any", "bern")),
            "[training] negative_sampling must be one of",
        ),
        (TrainingSettings(learning_rate=cast("Any", "1")), "learning_rate must be a number"),
        (FilterSettings(include=cast("Any", "http://p")), "[filter] include must be a list of str"),
        (ScheduleSettings(every=cast("Any", 15)), "[schedule] every must be a string, not 15"),
        (SplitSettings(key=cast("Any", 5)), "[split] key must be a string, not 5"),
        (
            UpdateSettings(initial_vectors=cast("Any", "avg")),
            "[update] initial_vectors must be one of",
        ),
    ],
)
def test_python_code_cannot_choose_what_there_is_not_either(section: Any, message: str) -> None:
    name = type(section).__name__.removesuffix("Settings").lower()
    with pytest.raises(ConfigError, match=re.escape(message)):
        Settings(**{name: section})


def test_python_code_may_give_whole_numbers_for_others_and_nothing_for_defaults() -> None:
    given = TrainingSettings(learning_rate=1)
    assert Settings(training=given).rates().training == 1
    assert Settings(training=TrainingSettings(learning_rate=None)).training.learning_rate is None


def test_work_is_done_on_the_cpu_unless_told() -> None:
    assert Settings().run.device == "cpu"


def test_a_device_is_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "kgsync.toml").write_text('[run]\nbackend = "torch"\ndevice = "cuda:1"\n')
    assert load_settings(tmp_path / "kgsync.toml").run.device == "cuda:1"


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_torch_may_use_any_device(backend: str) -> None:
    run = RunSettings(backend="torch" if backend == "torch" else "auto", device="mps")
    assert Settings(run=run).run.device == "mps"


def test_the_kernels_are_for_the_cpu_only() -> None:
    assert Settings(run=RunSettings(backend="cpu", device="cpu")).run.backend == "cpu"
    with pytest.raises(ConfigError, match=r"backend = 'cpu' cannot use device = 'cuda'.*'torch'"):
        Settings(run=RunSettings(backend="cpu", device="cuda"))


def test_steps_by_pair_are_for_the_cpu_only() -> None:
    training = TrainingSettings(steps="pair")
    assert Settings(training=training).run.device == "cpu"
    with pytest.raises(ConfigError, match=r"steps = 'pair' is for run\.device = 'cpu' only"):
        Settings(model=ModelSettings("transe"), training=training, run=RunSettings(device="cuda"))


@pytest.mark.parametrize(
    ("section", "key"),
    [("source", "store"), ("source", "scope"), ("state", "path"), ("publish", "target")],
)
def test_no_path_has_a_nul_character(tmp_path: Path, section: str, key: str) -> None:
    path = tmp_path / "kgsync.toml"
    path.write_text(f'[{section}]\n{key} = "a\\u0000b"\n')
    with pytest.raises(ConfigError, match=rf"\[{section}\] {key} has a NUL character"):
        load_settings(path)


def test_no_path_that_python_code_gives_has_a_nul_character(tmp_path: Path) -> None:
    for make in (
        lambda: KGSync("a\0b"),
        lambda: KGSync("a\0b", state=tmp_path),
        lambda: KGSync(tmp_path, state="a\0b"),
        lambda: KGSync(pyoxigraph.Store(), state=Path("a\0b")),
        lambda: KGSync.from_config("a\0b"),
        lambda: open_store("a\0b.nt"),
        lambda: open_store(Path("a\0b")),
    ):
        with pytest.raises(ConfigError, match="NUL character"):
            make()

"""Settings that only make sense together."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgsync.config import ModelSettings, RunSettings, Settings, TrainingSettings, load_settings
from kgsync.errors import ConfigError


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

"""The same input and seed give the same vectors, also the first time kernels are compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import hashlib
import numpy as np, torch
from kgsync.config import ModelSettings, Settings
from kgsync.common.cost import Cost
from kgsync.models import model_class
from kgsync.training.backends import warm_up
from kgsync.training.cpu.linking import kernels_of
from kgsync.training.cpu.trainer import CpuTrainer

random = np.random.default_rng(0)
train = np.unique(random.integers(0, [[2000], [40], [2000]], (3, 50_000)), axis=1)
settings = ModelSettings("distmult")
warm_up(Settings(model=settings))
model = model_class(settings.name).random(settings, 2000, 40, torch.Generator().manual_seed(1))
trainer = CpuTrainer(model, train, 10, np.random.default_rng(2), Cost())
losses = [trainer.general_epoch(model.info.learning_rate) for _ in range(5)]
tables = b"".join(table.numpy().tobytes() for table in model.tables.values())
print(hashlib.sha256(tables).hexdigest(), losses)
print(sum(kernels_of(settings).run_batches.stats.cache_misses.values()))
"""


@pytest.mark.torture
def test_the_first_run_is_the_same_as_the_second(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        for _ in range(2)
    )
    assert first == second
    assert first.splitlines()[-1] == "0", "the process that trains has compiled"

"""Kernels of a model that is registered from outside are compiled again when its text changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kgsync import models
from kgsync.common.kernels import kernel
from kgsync.config import ModelSettings
from kgsync.models import register
from kgsync.models.distmult import MODEL, DistMult
from kgsync.training.cpu.linking import label_of
from kgsync.training.cpu.plugin_kernels import digest_of_plugin, modules_of_plugin

ROOT = Path(__file__).parents[3]
PLUGIN = """
from kgsync.models import register
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.distmult import DistMult
from kgsync.models.parts.loops import function
from plugin_parts import weighted

class Toy(DistMult):
    def from_head(self, head, relation):
        return WEIGHT * super().from_head(head, relation)

@function
def score(tables, triple, _work):
    h, t = tables.entity[triple.head], tables.entity[triple.tail]
    r, total = tables.relation[triple.relation], 0.0
    for i in range(len(h)):
        total += weighted(h[i] * r[i] * t[i])
    return total

@function
def add_gradient(tables, triple, weight, sums, at, _work):
    pass

DECLARED = ModelDeclaration(
    name="toy", title="Toy", model=Toy, loss="logistic", optimizer="sgd", learning_rate=0.1,
    kernels={"score": score, "add_gradient": add_gradient},
)
REGISTER
"""
PARTS = """
from kgsync.models.parts.loops import function

@function
def weighted(x):
    return WEIGHT * x
"""
SCRIPT = """
import numpy as np, torch
IMPORT
from kgsync.common.cost import Cost
from kgsync.config import ModelSettings
from kgsync.models import model_class, register
from kgsync.training.cpu.compiling import load_kernels
from kgsync.training.cpu.linking import kernels_of
from kgsync.training.cpu.trainer import CpuTrainer

settings, said = ModelSettings("toy", 4), []
load_kernels(settings, waiting=said.append)
model = model_class("toy").random(settings, 5, 2, torch.Generator().manual_seed(1))
true, false = np.array([[0, 1, 2], [3, 0, 1]]), np.array([[0, 1, 4], [3, 0, 0]])
trainer = CpuTrainer(model, np.concatenate([true, false]).T, 1, np.random.default_rng(0), Cost())
found = trainer.step(true, false, 0.0)
def score(rows):
    head, tail = model.rows("entity", rows[:, 0]), model.rows("entity", rows[:, 2])
    return model.score(head, model.rows("relation", rows[:, 1]), tail)
expected = model.loss.of_batch(score(true), score(false)).item()
assert abs(found - expected) < 1e-6, (found, expected)
misses = sum(kernels_of(settings).run_batches.stats.cache_misses.values())
print(len(said), misses)
"""


class Plugin:
    """A plug-in in a folder, and processes that use it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        self.cache.mkdir(mode=0o700)

    def write(self, weight: float, register_: str = "register(DECLARED)") -> None:
        text = PLUGIN.replace("WEIGHT", str(weight)).replace("REGISTER", register_)
        (self.folder / "plugin.py").write_text(text)
        (self.folder / "plugin_parts.py").write_text(PARTS.replace("WEIGHT", str(weight)))

    def run(self, script: str = "import plugin") -> tuple[str, str]:
        """What a process says and how it is warned; its kernels agree with torch."""
        places = os.pathsep.join([str(ROOT), str(self.folder)])
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT.replace("IMPORT", script)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(self.cache), "PYTHONPATH": places},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    def stamps(self) -> list[Path]:
        return sorted(self.cache.rglob("*toy*.compiled"))


@pytest.mark.torture
def test_a_changed_plugin_is_compiled_again_by_another_process(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path)
    plugin.write(weight=1.5)
    assert plugin.run() == ("1 0", "")
    assert plugin.run() == ("0 0", "")
    (first,) = plugin.stamps()
    plugin.write(weight=2.5)
    assert plugin.run() == ("1 0", "")
    (second,) = plugin.stamps()
    assert first != second
    # A declaration that its module does not register is found in it.
    plugin.write(weight=2.5, register_="")
    assert plugin.run(
        "import plugin; from kgsync.models import register\nregister(plugin.DECLARED)"
    ) == (
        "1 0",
        "",
    )


@pytest.mark.torture
def test_what_no_other_process_knows_is_compiled_here_and_kept_under_its_own_name(
    tmp_path: Path,
) -> None:
    plugin = Plugin(tmp_path)
    plugin.write(weight=1.5)
    other = (
        "import plugin\nfrom dataclasses import replace\nfrom kgsync.models import register\n"
        "register(replace(plugin.DECLARED, loss='margin'))"
    )
    said, warned = plugin.run(other)
    assert said == "1 1"
    assert "as another could not: LookupError: plugin, plugin_parts declares another" in warned
    assert plugin.run(other) == ("0 0", "")
    assert plugin.run() == ("1 0", "")  # with the other loss


class _Toy(DistMult):
    """A model of somebody else."""


WEIGHT = 2.0


@kernel()
def _weighted(x: Any) -> Any:
    return WEIGHT * x


@kernel()
def _score(_tables: Any, _triple: Any, _work: Any) -> Any:
    return _weighted(1.0)


@pytest.fixture
def toy() -> Iterator[ModelSettings]:
    declared = replace(MODEL, name="to/y", model=_Toy, kernels={**(MODEL.kernels or {})})
    register(declared)
    yield ModelSettings("to/y", 4)
    models._family.remove("to/y")


def test_the_label_of_a_plugin_can_be_part_of_a_file_name(toy: ModelSettings) -> None:
    assert label_of(toy) == f"to_y~{digest_of_plugin('to/y')}"
    assert label_of(ModelSettings("distmult")) == "distmult"


def test_what_a_plugin_declares_and_its_constants_count(
    toy: ModelSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared, found = models.MODELS["to/y"], {digest_of_plugin("to/y")}
    for changed in (
        replace(declared, loss="margin"),
        replace(declared, optimizer="sgd"),
        replace(declared, steps_by_pair=True),
        replace(declared, kernels={**(declared.kernels or {}), "score": _score}),
    ):
        register(changed)
        found.add(digest_of_plugin("to/y"))
    assert len(found) == 5
    monkeypatch.setitem(_weighted.function.__globals__, "WEIGHT", 3.0)  # type: ignore[attr-defined]
    assert digest_of_plugin("to/y") not in found


def test_functions_that_are_in_no_file_count(toy: ModelSettings) -> None:
    found = set()
    for weight in (1, 2, 1):
        module = ModuleType("typed_in")
        text = f"def score(t, x, w):\n    def inner(): return {weight}\n    return inner()"
        exec(text, vars(module))
        parts = {**(MODEL.kernels or {}), "score": kernel()(module.score)}
        register(replace(models.MODELS["to/y"], kernels=parts))
        found.add(digest_of_plugin("to/y"))
    assert len(found) == 2


def test_only_what_is_not_of_kgsync_is_imported(toy: ModelSettings) -> None:
    assert modules_of_plugin("to/y") == [__name__]

"""Kernels are compiled once for a text, and where nothing can be kept, every time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgsync.training.cpu import compiling
from kgsync.training.cpu.texts import digest_of_texts


def _stamps(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("kgsync-*"))


def test_going_back_to_an_older_text_compiles_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("old", "new", "old"):
        kernel = tmp_path / "steps.run_batches-1.py311.1.nbc"
        kernel.touch()
        monkeypatch.setattr(compiling, "_made_of", lambda name=text: name)
        compiling._compile_once("ranking", [tmp_path])
        assert _stamps(tmp_path) == [f"kgsync-{text}.compiled"]
        assert not kernel.exists()
        kernel.touch()
        compiling._compile_once("ranking", [tmp_path])  # from the same text: nothing to do
        assert kernel.exists()


def test_a_compiler_that_fails_leaves_no_stamp(tmp_path: Path) -> None:
    compiling._compile_once("no such group", [tmp_path])
    assert _stamps(tmp_path) == []


def test_without_a_folder_to_write_kernels_work_all_the_same(tmp_path: Path) -> None:
    # The only locator that is left is for notebooks, so numba finds no place for the cache.
    environment = {**os.environ, "NUMBA_CACHE_LOCATOR_CLASSES": "IPythonCacheLocator"}
    code = (
        "from kgsync.config import ModelSettings\n"
        "from kgsync.training.cpu.compiling import load_kernels\n"
        "from kgsync.evaluation.ranking import _count_ranks as kernel\n"
        "load_kernels(ModelSettings(), ranking_only=True)\n"
        "print(kernel.stats.cache_path, len(kernel.signatures))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["None", "1"]
    assert list(tmp_path.iterdir()) == []


def test_every_text_that_kernels_come_from_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    whole = Path.read_bytes

    def noted(path: Path) -> bytes:
        read.add(f"{path.parent.name}/{path.name}")
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", noted)
    assert digest_of_texts() == digest_of_texts()
    kernels = {"cpu/steps.py", "cpu/drawing.py", "models/distances.py", "evaluation/ranking.py"}
    constants = {"training/optimizers.py", "training/pretraining.py", "training/evidence.py"}
    assert kernels | constants | {"models/transh.py"} <= read

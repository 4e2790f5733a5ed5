"""Kernels are compiled once for a text, and where nothing can be kept, every time."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kgsync.config import ModelSettings
from kgsync.errors import ConfigError
from kgsync.training.cpu import compiling
from kgsync.training.cpu.kernel_texts import digest_of_texts
from kgsync.training.cpu.linking import label_of


def _stamps(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("kgsync-*"))


def _training(folder: Path, settings: ModelSettings) -> compiling._Cache:
    return compiling._Cache("training", [folder], label_of(settings))


def compile_once(
    caches: list[compiling._Cache],
    settings: ModelSettings | None = None,
    waiting: Callable[[str], None] = lambda _: None,
) -> None:
    with compiling._compiled_once(caches, settings, waiting):
        pass


@pytest.mark.torture
def test_going_back_to_an_older_text_compiles_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("old", "new", "old"):
        kernel = tmp_path / "steps.run_batches-1.py311.1.nbc"
        kernel.touch()
        monkeypatch.setattr(compiling, "_made_of", lambda name=text: name)
        compile_once([compiling._Cache("ranking", [tmp_path])])
        assert _stamps(tmp_path) == [f"kgsync-{text}.compiled"]
        assert not kernel.exists()
        kernel.touch()
        compile_once([compiling._Cache("ranking", [tmp_path])])  # from the same text: nothing to do
        assert kernel.exists()


@pytest.mark.torture
def test_compiling_a_second_model_leaves_the_kernels_of_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "_made_of", lambda: "text")
    said: list[str] = []
    first, half = ModelSettings(), tmp_path / "steps.run_batches-distmult-1.py311.1.nbc"
    compile_once([_training(tmp_path, first)], first, said.append)
    kept = tmp_path / "steps.run_batches-transe_l1-1.py311.1.nbc"
    for file in (kept, half):
        file.touch()
    second = ModelSettings("distmult")
    compile_once([_training(tmp_path, second)], second, said.append)
    assert kept.exists()
    assert not half.exists()  # of a compiler that was killed
    assert _stamps(tmp_path) == ["kgsync-text-distmult.compiled", "kgsync-text-transe_l1.compiled"]
    assert said == [
        f"compiling the kernels of {title}; this happens once" for title in ("TransE", "DistMult")
    ]
    compile_once([_training(tmp_path, first)], first, said.append)
    assert len(said) == 2


def test_one_process_compiles_all_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    said: list[str] = []
    run = subprocess.run

    def noted(command: list[str], **options: Any) -> Any:
        started.append(len(options["pass_fds"]))
        return run(command, **options)

    monkeypatch.setattr(compiling, "_made_of", lambda: "text")
    monkeypatch.setattr(subprocess, "run", noted)
    ranking, training = tmp_path / "ranking", tmp_path / "training"
    for folder in (ranking, training):
        folder.mkdir()
    first, second = ModelSettings(), ModelSettings("distmult")
    for settings in (first, second):
        caches = [compiling._Cache("ranking", [ranking]), _training(training, settings)]
        compile_once(caches, settings, said.append)
    assert started == [2, 1]  # the second time, only the kernels of the other model
    assert len(said) == 2
    assert _stamps(ranking) == ["kgsync-text.compiled"]
    assert _stamps(training) == ["kgsync-text-distmult.compiled", "kgsync-text-transe_l1.compiled"]


def test_a_compiler_that_fails_is_told_and_what_is_compiled_instead_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        compiling._compiled_once([compiling._Cache("no such group", [tmp_path])]),
        (tmp_path / "kgsync.lock").open("w") as lock,
    ):
        assert _stamps(tmp_path) == []  # before this process has compiled
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert len(_stamps(tmp_path)) == 1
    assert "as another could not: KeyError: 'no such group'" in caplog.text
    kernel = tmp_path / "steps.run_batches-1.py311.1.nbc"
    kernel.touch()
    compile_once([compiling._Cache("no such group", [tmp_path])])
    assert kernel.exists()


def test_without_a_compiler_an_error_while_compiling_leaves_no_stamp(tmp_path: Path) -> None:
    cache = compiling._Cache("no such group", [tmp_path])
    with pytest.raises(MemoryError), compiling._compiled_once([cache]):
        raise MemoryError
    assert _stamps(tmp_path) == []


def test_the_compiler_does_not_import_from_the_folder_it_is_started_in(tmp_path: Path) -> None:
    (tmp_path / "secrets.py").write_text("raise SystemExit('of somebody else')")
    code = (
        "from pathlib import Path\n"
        "from kgsync.training.cpu import compiling\n"
        "Path('cache').mkdir()\n"
        "with compiling._compiled_once([compiling._Cache('ranking', [Path('cache')])]): pass"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert len(list((tmp_path / "cache").glob("*.compiled"))) == 1


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from kgsync.training.cpu import compiling
compiling._made_of = lambda: "text"
def run(command, **options):  # begins, and is killed in the middle of it
    subprocess.Popen(["cat"], pass_fds=options["pass_fds"])
    os.kill(os.getpid(), signal.SIGKILL)
compiling.subprocess.run = run
with compiling._compiled_once([compiling._Cache("ranking", [Path(sys.argv[1])])]):
    pass
"""


def test_nobody_compiles_beside_the_compiler_of_a_process_that_was_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE) as killed,
        (tmp_path / "kgsync.lock").open("w") as lock,
    ):
        assert killed.wait() == -signal.SIGKILL
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert killed.stdin is not None
        killed.stdin.close()  # its compiler comes to its end
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_without_compiling_there_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(ConfigError, match="unset NUMBA_DISABLE_JIT"):
        compiling.load_kernels(ModelSettings())


def test_numba_that_is_told_not_to_compile_can_be_imported() -> None:
    code = "import kgsync.training.cpu.compiling"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)


@pytest.mark.torture
def test_without_a_folder_to_write_kernels_work_all_the_same(tmp_path: Path) -> None:
    # The only locator that is left is for notebooks, so numba finds no place for the cache.
    environment = {**os.environ, "NUMBA_CACHE_LOCATOR_CLASSES": "IPythonCacheLocator"}
    code = (
        "from kgsync.config import ModelSettings\n"
        "from kgsync.training.cpu.compiling import load_kernels\n"
        "from kgsync.evaluation.counting import _count as kernel\n"
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
    kernels = {"cpu/steps.py", "cpu/drawing.py", "parts/distances.py", "evaluation/ranking.py"}
    constants = {
        "torch_backend/optimizers.py",
        "torch_backend/pretraining.py",
        "initial/evidence.py",
    }
    constants |= {"common/compiled.py", "common/kernels.py"}
    assert kernels | constants | {"models/transh.py"} <= read

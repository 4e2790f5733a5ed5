"""Compiling the kernels before they are needed, in a process of its own.

A process that has just compiled a kernel may call other copies of its inner functions than one that
loads it from the cache, and their sums may differ in the last bit. So the process that compiles
does not train, unless no other can: the same input and seed give the same vectors, the first time
too.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

import numba
import numpy as np
import torch
from llvmlite.binding import get_host_cpu_name  # type: ignore[import-untyped]

from kgsync.common.cost import Cost
from kgsync.common.kernels import Kernel
from kgsync.common.locks import NoLocksError, take_lock
from kgsync.errors import ConfigError
from kgsync.evaluation import counting, ranking
from kgsync.graph.hashing import Hashes
from kgsync.models import MODELS, is_registered, model_class, register
from kgsync.models.base import Kind, Model
from kgsync.models.declaration import ModelDeclaration
from kgsync.models.parts import distances
from kgsync.models.settings import ModelSettings, Norm
from kgsync.training.cpu.kernel_texts import digest_of_texts
from kgsync.training.cpu.linking import PLUGIN, kernels_of, label_of
from kgsync.training.cpu.plugin_kernels import modules_of_plugin
from kgsync.training.cpu.pretraining import CpuPretrainer
from kgsync.training.cpu.trainer import CpuTrainer
from kgsync.training.initial.evidence import Evidence, KeyedNegatives
from kgsync.training.initial.order import NewElement
from kgsync.training.samplers import CorrectedSampler
from kgsync.training.torch_backend.pretraining import PretrainingRates

__all__ = ["load_kernels"]

_log = logging.getLogger(__name__)
_STAMP = ".compiled"
_MEGABYTES = 1
_TRIPLES = np.array([[0, 1], [0, 0], [1, 2]])


def load_kernels(
    settings: ModelSettings,
    *,
    ranking_only: bool = False,
    waiting: Callable[[str], None] = lambda _: None,
) -> None:
    """Load the kernels of a model; if they were never compiled, another process does it first.

    Where no folder can be written they are compiled here, every time.

    Args:
        settings: The model.
        ranking_only: Torch trains, but it is the kernels that rank.
        waiting: Called with a message before compiling.

    Raises:
        ConfigError: Numba was told not to compile.
    """
    if getattr(numba.config, "DISABLE_JIT", 0):
        raise ConfigError("kgsync needs its compiled kernels; unset NUMBA_DISABLE_JIT")
    groups = (_RANKING,) if ranking_only else (_RANKING, _TRAINING)
    caches = [
        _Cache(group.name, [Path(folder) for folder in folders], group.label(settings))
        for group in groups
        if None not in (folders := [kernel.stats.cache_path for kernel in group.kernels(settings)])
    ]
    with _compiled_once(caches, settings, waiting):
        for group in groups:
            for part in group.calls:
                part(settings)


class _Cache(NamedTuple):
    """Where the kernels of a group are kept."""

    group: str
    folders: list[Path]
    label: str = ""
    """Part of the names of their files, if the kernels are those of one model."""

    @property
    def stamp(self) -> Path:
        """Says that all of them are there, compiled from these very texts."""
        text = f"{_text()}-{self.label}" if self.label else _text()
        return self.folders[0] / f"{text}{_STAMP}"


@contextmanager
def _compiled_once(
    caches: list[_Cache],
    settings: ModelSettings | None = None,
    waiting: Callable[[str], None] = lambda _: None,
) -> Iterator[None]:
    """Have caches filled that have no stamp, all by one process: to start it takes a second.

    If that process cannot, the calls inside of this context compile the kernels. Nobody else does
    so at the same time, and the stamps are written at the end.

    Args:
        caches: Always in the same order, as they are locked one after the other.
        settings: The model.
        waiting: Called with a message before compiling.
    """
    settings = settings or ModelSettings()
    with ExitStack() as held:
        locks: list[int] = []
        empty: list[_Cache] = []
        for cache in caches:
            if cache.stamp.exists():
                continue
            lock = held.enter_context((cache.folders[0] / "kgsync.lock").open("w"))
            try:
                take_lock(lock, cache.stamp, None)  # another process may be at it
            except NoLocksError as error:
                _log.warning("the kernels are compiled by this process: %s", error)
                continue
            if not cache.stamp.exists():
                locks.append(lock.fileno())
                empty.append(cache)
        if not empty:
            yield
            return
        of_model = any(cache.label for cache in empty)
        kernels = f"kernels of {MODELS[settings.name].title}" if of_model else "ranking kernels"
        waiting(f"compiling the {kernels}; this happens once")
        for cache in empty:
            _remove_others(cache)
        ended = _fill(empty, settings, locks)
        if ended == 0:
            held.close()
        yield
        if ended > 0:  # else it was killed, and may do better the next time
            for cache in empty:
                cache.stamp.touch()


def _fill(caches: list[_Cache], settings: ModelSettings, locks: list[int]) -> int:
    """Have another process compile, which holds the locks on if this one is killed.

    Returns:
        Its exit code.
    """
    name = settings.name
    modules = modules_of_plugin(name) if is_registered(name) else []
    groups = [(each.group, each.label, str(each.stamp)) for each in caches]
    values = name, settings.norm, groups, modules
    # Looking for garbage would take a tenth of the time of a process that ends soon.
    code = f"import gc; gc.disable(); import {__name__} as c; c._compile(*{values!r})"
    # It finds what this process finds.
    places = os.pathsep.join(str(Path(place).absolute()) for place in sys.path)
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "PYTHONPATH": places},
        pass_fds=locks,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        _log.warning("the kernels are compiled by this process, as another could not: %s", reason)
    return done.returncode


def _remove_others(cache: _Cache) -> None:
    """Remove what was compiled from another text, or not to its end.

    Numba would not notice that an inner function has changed.
    """
    text, label = _text(), cache.label
    stamps = list(cache.folders[0].glob(f"kgsync-*{_STAMP}"))
    old = [stamp for stamp in stamps if not stamp.name.startswith(text)]
    if PLUGIN in label:  # what the same model was before is removed too
        label = f"{label.partition(PLUGIN)[0]}{PLUGIN}*"
    # Without a stamp of this text, nobody knows what the files were compiled from.
    ours = f"*-{label}-*.nb[ic]" if label and stamps and not old else "*.nb[ic]"
    old += cache.folders[0].glob(f"{text}-{label}{_STAMP}")
    for file in (*(file for folder in cache.folders for file in folder.glob(ours)), *old):
        file.unlink(missing_ok=True)


def _compile(
    model: str, norm: Norm, groups: list[tuple[str, str, str]], modules: list[str]
) -> None:
    """What the other process does.

    Args:
        model: Name of the model.
        norm: Its norm.
        groups: Names of the groups to compile, the labels of their caches, and their stamps.
        modules: What to import to know the model.

    Raises:
        LookupError: They declare no such model, or another one.
    """
    for module in modules:
        _register(import_module(module), model)
    if model not in MODELS:
        raise LookupError(f"no module that can be imported declares the model {model}")
    alike = ModelSettings(model, norm=norm)
    for name, label, stamp in groups:
        group = _GROUPS[name]
        if group.label(alike) != label:
            raise LookupError(f"{', '.join(modules)} declares another model {model}")
        # The kernels of all models are the same unless they have a label.
        for settings in [alike] if group.label(alike) else [ModelSettings(each) for each in MODELS]:
            for part in group.calls:
                part(settings)
        Path(stamp).touch()


def _register(module: ModuleType, model: str) -> None:
    """Register the model that a module declares, if importing it has not."""
    for value in vars(module).values():
        if isinstance(value, ModelDeclaration) and value.name == model and model not in MODELS:
            register(value)


def _train(settings: ModelSettings) -> None:
    """Call the kernels of the epochs with minimal data."""
    model, triples, random = _little(settings), _TRIPLES, np.random.default_rng(0)
    trainer = CpuTrainer(model, triples, 1, random, Cost())
    trainer.general_epoch(0.0)
    trainer.change_epoch(triples, triples, CorrectedSampler(triples, 1, random), 0.0)


def _start(settings: ModelSettings) -> None:
    """Call the kernels of pretraining."""
    model, triples = _little(settings), _TRIPLES
    hashes: dict[Kind, Hashes] = {
        "entity": np.zeros(3, np.uint64),
        "relation": np.zeros(1, np.uint64),
    }
    negatives = KeyedNegatives(triples, np.arange(3), hashes, 0)
    evidence = Evidence.of("entity", [NewElement("entity", 1, np.arange(1), 1)], triples)
    CpuPretrainer(model, negatives, PretrainingRates(1, 1, 0.0), Cost()).train(evidence)


def _rank(settings: ModelSettings) -> None:
    """Call the kernels of scores and ranks."""
    model, triples = _little(settings), _TRIPLES
    rows, relation = model.rows("entity", slice(0, 1)), model.rows("relation", slice(0, 1))
    model.score_tails(rows, relation, model.rows("entity", slice(None)))
    ranking.ranks(model, triples, ranking.KnownTriples(triples), "tail", _MEGABYTES)


def _little(settings: ModelSettings) -> Model:
    return model_class(settings.name).random(settings, 3, 1, torch.Generator())


def _text() -> str:
    """How the names of stamps begin."""
    return f"kgsync-{_made_of()}"


def _made_of() -> str:
    """A name for what the compiled kernels depend on."""
    version = ".".join(map(str, sys.version_info[:2]))
    made_by = f"{numba.__version__} {version} {get_host_cpu_name()}"
    return f"{digest_of_texts()}-{sha256(made_by.encode()).hexdigest()[:8]}"


class _Group(NamedTuple):
    """Kernels that are compiled together."""

    name: str
    kernels: Callable[[ModelSettings], list[Any]]
    """One of every folder that they are compiled into."""
    calls: tuple[Callable[[ModelSettings], None], ...]
    """What calls all of them."""
    label: Callable[[ModelSettings], str]
    """Part of the names of the files; empty if all models share them."""


_RANKING = _Group(
    "ranking",
    lambda _: [counting._count, cast("Kernel", distances._fill).dispatcher],
    (_rank,),
    lambda _: "",
)
_TRAINING = _Group(
    "training", lambda settings: [kernels_of(settings).run_batches], (_train, _start), label_of
)
_GROUPS = {group.name: group for group in (_RANKING, _TRAINING)}

"""What a whole step costs whose change is thirty triples, on graphs of any size.

`python -m tests.benchmarks.small_steps --edges 300000 1000000 5000000` invents a graph (TransE,
100 numbers per vector, `update.strategy = "local"`), commits a first version, lets one step warm
up, and measures the next ones: processor and wall seconds by phase, bytes read and written through
the operating system, and score evaluations. The vectors of the version before are copied once, and
all files are written anew: these two are shown with their speed, too. Then another process takes
one step: a cold one.

The versions are a folder of change files: a base, and thirty triples per version (half of them
added, one with a new entity). `--store memory` has each version as a graph in an open Oxigraph
store instead, which has to be read whole. The first version is trained for one epoch, because its
quality does not matter here. Retraining is the processor time of one such epoch times `--epochs`,
without what reading, evaluating and writing would take besides.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from kgsync.common.listener import Phases
from kgsync.common.memory import peak_mb
from tests.benchmarks.table import aligned, machine

if TYPE_CHECKING:
    import pyoxigraph as ox

    from kgsync import KGSync

Numbers = dict[str, float]

_RELATIONS, _PER_ENTITY = 50, 7.5
_CHANGED = 15
"""Triples that a version adds, and as many that it deletes."""
_GRAPHS = "http://example.org/kg/{version}"
_PHASES = (
    "fetch",
    "initial vectors",
    "update",
    "evaluate",
    "write",
    "stage",
    "commit",
    "publish",
)
_COPYING = "copy vectors"
_ROWS = (_PHASES[0], _COPYING, *_PHASES[1:], "between phases")
_RATES = (f"MB/s, {_COPYING}", "MB/s, write")


class CpuPhases(Phases):
    """Phases whose processor time is noted, too."""

    cpu: Numbers = {}  # noqa: RUF012  of this process

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.process_time()
        with super().__call__(name):
            yield
        self.cpu[name] = self.cpu.get(name, 0.0) + time.process_time() - start


@contextmanager
def copying_apart() -> Iterator[None]:
    """Notes the copying of all vectors apart from the phase that it is a part of.

    It reads and writes each table once, and reads it once more for the mean of all vectors.
    """
    from kgsync.training.initial.vectors import carry_over

    def noted(model: Any, *given: Any) -> Any:
        start = time.process_time(), time.perf_counter()
        made = carry_over(model, *given)
        cpu, wall = time.process_time() - start[0], time.perf_counter() - start[1]
        CpuPhases.cpu |= {
            _COPYING: cpu,
            f"wall {_COPYING}": wall,
            "copied MB": sum(table.nbytes for table in made.tables.values()) / 1e6,
        }
        return made

    with patch("kgsync.training.procedure.carry_over", noted):
        yield


class _World:
    """The versions of one graph, and the sync that follows it."""

    def __init__(self, folder: Path, edges: int, options: argparse.Namespace) -> None:
        self.folder, self._edges = folder, edges
        self._memory: ox.Store | None = None
        if options.store == "memory":
            import pyoxigraph as ox

            self._memory = ox.Store()
        self._strategy, self._tested = options.strategy, options.tested

    def sync(self) -> KGSync:
        """The sync, new in this process."""
        from kgsync import KGSync
        from kgsync.config import (
            EvaluationSettings,
            Settings,
            SourceSettings,
            TrainingSettings,
            UpdateSettings,
        )

        patch("kgsync.sync.Phases", CpuPhases).start()
        settings = Settings(
            source=SourceSettings(quiet_period="0s"),
            training=TrainingSettings(epochs=1),
            update=UpdateSettings(strategy=self._strategy),
            evaluation=EvaluationSettings(validation_sample=self._tested, test_sample=self._tested),
        )
        graphs = _GRAPHS if self._memory is not None else None
        place = self._memory if self._memory is not None else self.folder / "kg"
        return KGSync(place, graphs, state=self.folder / "state", settings=settings)

    def begin(self) -> None:
        """The first version."""
        from tests.benchmarks.training.synthetic import draw

        self._entities = round(self._edges / _PER_ENTITY)
        self._pool = draw(self._edges + 20 * _CHANGED, self._entities, _RELATIONS)
        import numpy as np

        order = np.random.default_rng(2).permutation(len(self._pool))
        self._out, self._in = order[: 20 * _CHANGED], order[20 * _CHANGED :]
        (self.folder / "kg" / "changes").mkdir(parents=True)
        self._write("base.nt", np.sort(self._in))
        self._put(1, "base.nt")

    def go_on(self, number: int) -> None:
        """The version with a number, from 2 on."""
        at = slice((number - 2) * _CHANGED, (number - 1) * _CHANGED)
        name = f"changes/{number - 1:04}"
        # The last one, which deletes, is complete before the version is there.
        self._write(f"{name}.removed.nt", self._in[at])
        self._write(f"{name}.added.nt", self._out[at], newcomer=number)
        self._put(number, f"{name}.added.nt", f"{name}.removed.nt")

    def _write(self, name: str, rows: Any, newcomer: int | None = None) -> None:
        columns = (column[rows].tolist() for column in self._pool.columns)
        triples = list(zip(*columns, strict=True))
        if newcomer is not None:
            triples[0] = (self._entities + newcomer, *triples[0][1:])
        text = "".join(
            f"<http://example.org/entity/{h:09}> <http://example.org/relation/{r:02}> "
            f"<http://example.org/entity/{t:09}> .\n"
            for h, r, t in triples
        )
        (self.folder / "kg" / name).write_text(text)

    def _put(self, number: int, added: str, removed: str | None = None) -> None:
        if self._memory is None:
            return
        import pyoxigraph as ox

        store, graph = self._memory, ox.NamedNode(_GRAPHS.format(version=number))
        if removed is not None:
            before = ox.NamedNode(_GRAPHS.format(version=number - 1))
            quads = store.quads_for_pattern(None, None, None, before)
            store.bulk_extend(ox.Quad(q.subject, q.predicate, q.object, graph) for q in quads)
            for quad in ox.parse(path=str(self.folder / "kg" / removed)):
                store.remove(ox.Quad(quad.subject, quad.predicate, quad.object, graph))
        path = str(self.folder / "kg" / added)
        store.bulk_load(path=path, format=ox.RdfFormat.N_TRIPLES, to_graph=graph)


def measured(sync: KGSync) -> Numbers:
    """One step: seconds by phase, bytes, score evaluations."""
    CpuPhases.cpu.clear()
    bytes_before, wall, cpu = _bytes(), time.perf_counter(), time.process_time()
    with copying_apart():
        report = sync.step()
    numbers = {
        "CPU": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "read MB": (_bytes()[0] - bytes_before[0]) / 1e6,
        "written MB": (_bytes()[1] - bytes_before[1]) / 1e6,
        "scores": report.cost.score_evaluations,
        "peak MB": peak_mb(),
    }
    if not report.changed:
        sys.exit(f"nothing new where a version was expected: {report}")
    phases = {name: CpuPhases.cpu.get(name, 0.0) for name in _PHASES}
    phases["between phases"] = numbers["CPU"] - sum(phases.values())
    phases[_COPYING] = CpuPhases.cpu.get(_COPYING, 0.0)
    phases["initial vectors"] -= phases[_COPYING]
    walls = {f"wall {name}": report.seconds.get(name, 0.0) for name in _PHASES}
    walls[f"wall {_COPYING}"] = CpuPhases.cpu.get(f"wall {_COPYING}", 0.0)
    walls["wall initial vectors"] -= walls[f"wall {_COPYING}"]
    numbers["copied MB"] = CpuPhases.cpu.get("copied MB", 0.0)
    for name, size in ((_COPYING, "copied MB"), ("write", "written MB")):
        numbers[f"MB/s, {name}"] = numbers[size] / max(phases[name], 1e-3)
    return numbers | phases | walls


def epoch_seconds(sync: KGSync) -> float:
    """Processor seconds of an epoch of training from scratch on the current version."""
    from kgsync.common.cost import Cost
    from kgsync.models.base import Model
    from kgsync.state.committed import current_version
    from kgsync.training.backends import trainer_for
    from tests.benchmarks.training.synthetic import problem_of

    current = current_version(sync.state)
    if current is None:
        sys.exit("there is no version to train on")
    problem = problem_of(current.edges, current.terms, sync.settings, "epochs")
    sizes = len(problem.active.entities), len(problem.active.relations)
    model = _random(sync, sizes, problem.seeds.torch("epochs"))
    assert isinstance(model, Model)
    trainer = trainer_for(model, problem, problem.seeds.numpy("epochs"), Cost())
    trainer.general_epoch(problem.rates.training)
    epochs, start = 2, time.process_time()
    for _ in range(epochs):
        trainer.general_epoch(problem.rates.training)
    return (time.process_time() - start) / epochs


def _random(sync: KGSync, sizes: tuple[int, int], generator: Any) -> Any:
    from kgsync.models import model_class

    return model_class(sync.settings.model.name).random(sync.settings.model, *sizes, generator)


def _bytes() -> tuple[int, int]:
    """Bytes read and written by this process so far; those of mapped files are not counted."""
    lines = Path("/proc/self/io").read_text().splitlines()
    found = dict(line.split(": ") for line in lines)
    return int(found["rchar"]), int(found["wchar"])


def one_size(edges: int, options: argparse.Namespace, folder: Path) -> dict[str, Numbers]:
    """Warm steps and a cold one; the middle one of the warm ones."""
    world = _World(folder, edges, options)
    world.begin()
    sync = world.sync()
    sync.step()
    world.go_on(2)
    first = measured(sync)
    warm = []
    for number in range(3, 3 + options.steps):
        world.go_on(number)
        if options.profile and number == 2 + options.steps:
            warm.append(_profiled(sync, options.profile))
        else:
            warm.append(measured(sync))
    found = {"first": first, "warm": sorted(warm, key=lambda run: run["CPU"])[len(warm) // 2]}
    found["retraining"] = {"CPU": epoch_seconds(sync) * options.epochs}
    world.go_on(3 + options.steps)
    if options.store == "files":
        found["cold"] = _child("--cold", str(folder), *_given(options))
    return found


def _given(options: argparse.Namespace) -> list[str]:
    """The options that another process is told."""
    names = ("steps", "epochs", "store", "strategy", "profile", "tested")
    given = [(f"--{name}", getattr(options, name)) for name in names]
    return [str(part) for name, value in given if value is not None for part in (name, value)]


def _profiled(sync: KGSync, path: str) -> Numbers:
    import cProfile

    profile = cProfile.Profile()
    profile.enable()
    numbers = measured(sync)
    profile.disable()
    profile.dump_stats(path)
    return numbers


def _child(*arguments: str) -> Any:
    """What this module prints last in a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.small_steps", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table per size as it goes, and one of the growth at the end."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.small_steps")
    parser.add_argument("--edges", type=int, nargs="+", default=[300_000, 1_000_000, 5_000_000])
    parser.add_argument("--steps", type=int, default=3, help="measured steps of the warm process")
    parser.add_argument("--epochs", type=int, default=100, help="epochs of training from scratch")
    parser.add_argument("--store", choices=("files", "memory"), default="files")
    parser.add_argument("--strategy", default="local")
    parser.add_argument(
        "--tested", type=int, default=2000, help="test triples that are ranked, twice per step"
    )
    parser.add_argument("--profile", help="file for a profile of the last warm step; slows it down")
    parser.add_argument("--one", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--cold", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cold:
        print(json.dumps(measured(_World(Path(options.cold), 0, options).sync())))
        return
    if options.one:
        print(json.dumps(one_size(options.edges[0], options, Path(options.one))))
        return
    print(machine())
    found = {edges: _in_a_folder(edges, options) for edges in options.edges}
    if len(found) > 1:
        print(_growth(found))


def _in_a_folder(edges: int, options: argparse.Namespace) -> dict[str, Numbers]:
    with tempfile.TemporaryDirectory() as folder:
        given = ["--one", folder, "--edges", str(edges), *_given(options)]
        found: dict[str, Numbers] = _child(*given)
    print(_told(edges, found, options), flush=True)
    return found


def _told(edges: int, found: dict[str, Numbers], options: argparse.Namespace) -> str:
    runs = [name for name in ("warm", "first", "cold") if name in found]
    head = ["CPU s", *(f"{name} step" for name in runs), "wall s, warm"]
    rows = [head]
    for name in (*_ROWS, "CPU"):
        cells = [f"{found[run][name]:.3f}" for run in runs]
        wall = found["warm"].get("wall" if name == "CPU" else f"wall {name}")
        rows.append([name if name != "CPU" else "whole step", *cells, _seconds(wall)])
    retraining = found["retraining"]["CPU"]
    for name in ("read MB", "written MB", *_RATES, "scores", "peak MB"):
        rows.append([name, *(f"{found[run][name]:,.0f}" for run in runs), ""])
    shares = [f"1/{retraining / found[run]['CPU']:.1f}" for run in runs]
    rows.append(["÷ retraining", *shares, ""])
    about = f"{options.epochs} epochs of training from scratch: {retraining:.1f} s CPU"
    return f"### {edges:,} edges, {options.store}\n\n{aligned(rows)}\n\n{about}\n"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _growth(found: dict[int, dict[str, Numbers]]) -> str:
    sizes = sorted(found)
    rows: list[Sequence[str]] = [
        ["CPU s, warm", *(f"{size:,} edges" for size in sizes), "largest ÷ smallest"]
    ]
    sums = {
        "initial vectors + update": ("initial vectors", "update"),
        "the same + evaluate": ("initial vectors", "update", "evaluate"),
        "the same + copy vectors": ("initial vectors", "update", "evaluate", _COPYING),
        "copy vectors": (_COPYING,),
        "write": ("write",),
        "whole step": ("CPU",),
    }
    for name, parts in sums.items():
        totals = [sum(found[size]["warm"][part] for part in parts) for size in sizes]
        ratio = totals[-1] / totals[0] if totals[0] else 0.0
        rows.append([name, *(f"{total:.3f}" for total in totals), f"{ratio:.1f}"])
    return f"### Growth\n\n{aligned(rows)}"


if __name__ == "__main__":
    main()

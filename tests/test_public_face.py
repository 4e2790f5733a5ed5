"""The README, the command line and the API hold each other to their word."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import typer.main

import kgsync
from kgsync.cli.app import app
from kgsync.common.family import makers
from kgsync.graph.stores import ADAPTERS
from kgsync.models import MODELS
from kgsync.publish.literals.datatypes import DATATYPES
from kgsync.service import guards
from kgsync.training.settings import strategies

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> set[str]:
    return set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_public_names_are_sorted_and_importable() -> None:
    assert kgsync.__all__ == sorted(kgsync.__all__)
    for name in kgsync.__all__:
        assert getattr(kgsync, name) is not None
        assert name in dir(kgsync)


def test_the_readme_names_every_command_and_no_other() -> None:
    shell = "".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))
    used = set(re.findall(r"^kgsync ([a-z]+)", shell, re.MULTILINE))
    used |= set(re.findall(r"`kgsync ([a-z]+)", README))
    assert used == commands()


def test_the_readme_names_every_model_and_every_dependency() -> None:
    for model in MODELS:
        assert f"`{model}`" in README
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for dependency in project["dependencies"]:
        name = re.split(r"[<>=]", dependency)[0]
        assert re.search(rf"^\| {name} \|", README, re.MULTILINE), name


def test_the_readme_names_every_strategy_datatype_and_guard() -> None:
    for strategy in strategies():
        assert re.search(rf"^\| `{strategy}`", README, re.MULTILINE), strategy
    for name in [*DATATYPES, *makers(guards.__name__, guards.__path__, "guard")]:
        assert f"`{name}`" in README, name


def test_every_method_the_readme_calls_exists() -> None:
    for name in set(re.findall(r"\bsync\.(\w+)\(", README)):
        assert hasattr(kgsync.KGSync, name), name


def test_every_registered_adapter_can_be_imported() -> None:
    from importlib import import_module

    for reference in ADAPTERS.values():
        module, _, name = reference.partition(":")
        assert callable(getattr(import_module(module), name).open)


def test_importing_kgsync_loads_nothing_heavy() -> None:
    code = (
        "import sys, kgsync\n"
        "heavy = {'torch', 'numpy', 'pyarrow', 'rdflib', 'pyoxigraph', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Files of models are found by themselves, and nothing else in the package names a model."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kgsync
from kgsync.models import MODELS, model_class
from kgsync.models.base import Model

PACKAGE = Path(kgsync.__file__).parent
DEFAULTS = {"models/settings.py", "cli/commands/init.py"}
"""Files with the default of the setting `name`."""

every_name = pytest.mark.parametrize("name", sorted(MODELS))


@every_name
def test_a_model_is_one_file_of_its_name(name: str) -> None:
    declared = MODELS[name]
    assert declared.name == name
    assert issubclass(model_class(name), Model)
    assert model_class(name).__module__ == f"kgsync.models.{name}"
    assert declared.title.lower() == name


def test_finding_the_models_loads_no_library_that_computes() -> None:
    code = (
        "import sys\n"
        "from kgsync.models import MODELS\n"
        "assert len(MODELS) >= 7 and all(MODELS[name].kernels for name in MODELS)\n"
        "heavy = {'torch', 'numba', 'llvmlite', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_other_file_names_a_model() -> None:
    for path in PACKAGE.rglob("*.py"):
        place = path.relative_to(PACKAGE).as_posix()
        own = path.parent.name == "models" and path.stem in MODELS
        if own or place in DEFAULTS:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                assert node.value not in MODELS, f"{place}, line {node.lineno}"

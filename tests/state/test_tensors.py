"""Safetensors files of our own writing: readable by the library, and the same every time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors
from safetensors.numpy import load_file

from kgsync.state.tensors import write_tensors
from tests.worlds import disk_store


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint64", "bool"])
def test_the_library_reads_what_was_written(tmp_path: Path, dtype: str) -> None:
    tables = {
        "b": np.arange(6).reshape(2, 3).astype(dtype),
        "empty": np.empty((0, 4), dtype),
        "a": np.arange(5, dtype="float32"),
        "turned": np.arange(6).reshape(2, 3).astype(dtype).T,
    }
    write_tensors(tmp_path / "t.safetensors", tables, {"ünï": 'a "text"', "a": "b"})
    found = load_file(tmp_path / "t.safetensors")
    assert found.keys() == tables.keys()
    for name, table in tables.items():
        assert found[name].dtype == table.dtype
        assert np.array_equal(found[name], table)
    with safetensors.safe_open(tmp_path / "t.safetensors", "np") as file:
        assert file.metadata() == {"ünï": 'a "text"', "a": "b"}


def test_the_order_of_the_arguments_does_not_show(tmp_path: Path) -> None:
    tables = {"a": np.ones(3, "f4"), "b": np.ones(2, "i8")}
    write_tensors(tmp_path / "one", tables, {"x": "1", "y": "2"})
    back = dict(reversed(tables.items()))
    write_tensors(tmp_path / "two", back, {"y": "2", "x": "1"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


_RUN = """
import sys
from dataclasses import replace
from pathlib import Path
from kgsync import KGSync
from kgsync.config import PublishSettings
from tests.worlds import GRAPHS, quick_settings
folder = Path(sys.argv[1])
settings = replace(quick_settings(), publish=PublishSettings(literals="rolling"))
sync = KGSync(folder / "kg", GRAPHS, state=folder / "state", settings=settings)
sync.step()
sync.step(allow_large_removal=True)
"""


def test_equal_runs_write_equal_bytes(tmp_path: Path) -> None:
    """But for sidecar.json and the manifest, which tell when and how long."""
    files = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        disk_store(folder / "kg", ["1", "2"])
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", _RUN, str(folder)], check=True, env=environment)
        state = folder / "state"
        found = [*state.glob("0*/*/*"), *state.glob("literals/*/*")]
        files.append({p.relative_to(state).as_posix(): p.read_bytes() for p in found})
    one, two = files
    assert one.keys() == two.keys()
    different = {name for name in one if one[name] != two[name]}
    assert {name.rpartition("/")[2] for name in different} == {"sidecar.json"}
    assert any(name.startswith("literals/") for name in one)

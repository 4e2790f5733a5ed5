"""The files of a version on their own, and current.json, which leads to them."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgsync import KGSync, load
from kgsync.errors import StateCorruptedError, StateError
from tests.processes import python
from tests.state.sidecars import current_json, embeddings, make_sync
from tests.worlds import GRAPHS, iri

WITHOUT_KGSYNC = """
import json, sys
sys.modules["kgsync"] = None  # importing it is an error from here on
import duckdb, pandas, pyarrow.parquet
from safetensors.numpy import load_file

folder, name = sys.argv[1:]
index = pandas.read_parquet(folder + "/index.parquet")
row = index[(index.kind == "entity") & (index.iri == name)].row.item()
tensors = load_file(folder + "/tensors.safetensors")["entity"][row]
frame = pandas.read_parquet(folder + "/vectors.parquet")
pandas_ = frame[(frame.kind == "entity") & (frame.iri == name)].vector.item()
table = pyarrow.parquet.read_table(folder + "/vectors.parquet").to_pylist()
arrow = [r["vector"] for r in table if r["kind"] == "entity" and r["iri"] == name][0]
duck = duckdb.execute(
    "SELECT vector FROM read_parquet(?) WHERE kind = 'entity' AND iri = ?",
    [folder + "/vectors.parquet", name],
).fetchone()[0]
changes = duckdb.execute(
    "SELECT count(*) FROM read_parquet(?)", [folder + "/delta.parquet"]
).fetchone()[0]
found = [[float(x) for x in vector] for vector in (tensors, pandas_, arrow, duck)]
print(json.dumps([found, changes]))
"""


@pytest.fixture
def sync(tmp_path: Path) -> KGSync:
    return make_sync(tmp_path)


def test_the_files_open_without_kgsync(sync: KGSync) -> None:
    sync.step()
    sync.step()
    folder, name = embeddings(sync, 2), iri("e20")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_KGSYNC, str(folder), name],
        check=True,
        capture_output=True,
        text=True,
    )
    found, changes = json.loads(done.stdout)
    assert found == [sync.embedding(name).astype(float).tolist()] * 4
    assert changes > 0


def test_sidecar_json_describes_the_folder_it_is_in(sync: KGSync) -> None:
    sync.step()
    sync.step()
    folder = embeddings(sync, 2)
    described = json.loads((folder / "sidecar.json").read_text(encoding="utf-8"))
    manifest = sync.state.version(2).manifest
    assert (described["format"], described["version"], described["previous"]) == (1, 2, 1)
    assert described["graph_version"] == GRAPHS.format(version="2")
    assert described["created"] == manifest.created
    assert described["model"] == manifest.model
    assert described["dimension"] == 8
    assert {*described["files"], "sidecar.json"} == {path.name for path in folder.iterdir()}
    for name, recorded in described["files"].items():
        content = (folder / name).read_bytes()
        assert recorded == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        assert manifest.files[f"embeddings/{name}"] == recorded
    assert "embeddings/sidecar.json" in manifest.files


def test_current_json_follows_every_commit(sync: KGSync) -> None:
    for version in (1, 2):
        sync.step()
        shown, manifest = current_json(sync), sync.state.version(version).manifest
        assert (shown["version"], shown["previous"]) == (version, manifest.previous)
        assert shown["graph_version"] == manifest.graph_version["name"]
        assert shown["created"] == manifest.created
        assert (shown["model"], shown["dimension"]) == (manifest.model, 8)
        folder = sync.state.path / shown["folder"]
        assert folder == embeddings(sync, version)
        assert {f"embeddings/{name}": recorded for name, recorded in shown["files"].items()} == {
            name: recorded
            for name, recorded in manifest.files.items()
            if name.startswith("embeddings/")
        }


def test_current_json_follows_a_rollback_and_the_step_after_it(sync: KGSync) -> None:
    sync.catch_up()
    sync.rollback(2)
    assert (current_json(sync)["version"], current_json(sync)["previous"]) == (2, 1)
    assert np.array_equal(load(sync.state.path).vector(iri("e3")), sync.embedding(iri("e3")))
    assert sync.step().version == 5
    assert (current_json(sync)["version"], current_json(sync)["previous"]) == (5, 2)
    described = json.loads((embeddings(sync, 5) / "sidecar.json").read_text())
    assert described["previous"] == 2  # what the delta is relative to


@pytest.mark.parametrize("damage", ["missing", "older", "no JSON", "no object"])
def test_the_next_step_repairs_current_json(sync: KGSync, damage: str) -> None:
    sync.catch_up()
    path = sync.state.path / "current.json"
    right = path.read_text()
    if damage == "missing":
        path.unlink()
    elif damage == "older":
        path.write_text(json.dumps({**json.loads(right), "version": 3}))
    else:
        path.write_text("{" if damage == "no JSON" else "[]")
    assert not sync.step().changed
    assert path.read_text() == right


def test_a_kill_between_the_commit_and_current_json_is_repaired(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; import kgsync.state.transaction\n"
        "from tests.state.sidecars import make_sync\n"
        "sync = make_sync(Path(sys.argv[1])); sync.step()\n"
        "def die(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "kgsync.state.transaction.Transaction.show = die\n"
        "sync.step()"
    )
    assert python(code, str(tmp_path)) == -signal.SIGKILL
    sync = make_sync(tmp_path)
    assert sync.state.current() is not None
    assert sync.status().version == 2
    assert current_json(sync)["version"] == 1
    assert load(sync.state.path).version == 1  # still whole, for a consumer in between
    sync.step()
    assert current_json(sync)["version"] == 3
    assert load(sync.state.path).version == 3


def test_current_json_outlives_a_refusal_of_the_disk(sync: KGSync) -> None:
    sync.step()
    (sync.state.path / "current.json.new").mkdir()  # so that it cannot be written
    report = sync.step()
    assert report.version == 2
    assert any("publishing is incomplete" in warning for warning in report.warnings)
    assert current_json(sync)["version"] == 1
    (sync.state.path / "current.json.new").rmdir()
    sync.step()
    assert current_json(sync)["version"] == 3


def test_versions_of_an_older_kgsync_are_read_and_gone_on_from(sync: KGSync) -> None:
    sync.step()
    folder = embeddings(sync, 1)
    for name in ("sidecar.json", "delta.parquet"):
        (folder / name).unlink()
    manifest = sync.state.version(1).manifest
    draft = folder.parent.rename(sync.state.path / "draft-000001")
    (draft / "manifest.json").unlink()
    files = {name: about for name, about in manifest.files.items() if (draft / name).exists()}
    sync.state.seal(draft, replace(manifest, files=files))
    (sync.state.path / "current.json").unlink()

    for place in (folder, folder.parent):
        assert load(place).version == 1
        assert np.array_equal(load(place).vector(iri("e3")), sync.embedding(iri("e3")))
    with pytest.raises(StateError, match="run `kgsync step`, which writes it"):
        load(sync.state.path)
    assert sync.step().version == 2
    assert load(sync.state.path).version == 2
    (folder / "vectors.parquet").unlink()
    with pytest.raises(StateCorruptedError, match=r"vectors\.parquet: No such file"):
        load(folder)

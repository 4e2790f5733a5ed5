"""`rebuild` with `aligned`: the same space as before, or a clear refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyoxigraph as ox
import pytest

from kgsync import KGSync
from kgsync.config import ModelSettings, RunSettings, Settings, SplitSettings
from kgsync.errors import SettingsChangedError, StateCorruptedError, StateError
from kgsync.publish.metadata.description import KGE, run_iri
from tests.processes import kgsync
from tests.publish.described import complaints, published
from tests.worlds import GRAPHS, disk_store, fill, iri, quick_settings


def _settings(model: str = "transe") -> Settings:
    """Trained by torch, which has nothing to compile."""
    return replace(quick_settings(model), run=RunSettings(threads=1, backend="torch"))


@pytest.fixture
def sync(tmp_path: Path) -> KGSync:
    settings = _settings()
    settings = replace(settings, source=replace(settings.source, max_removed=1.0))
    return KGSync(fill(ox.Store()), GRAPHS, state=tmp_path / "state", settings=settings)


def _distance(sync: KGSync, version: int) -> float:
    """How far some vectors are from those of a version."""
    names = [iri(f"e{i}") for i in range(10, 40)]
    gaps = (sync.embedding(name) - sync.at(version).embedding(name) for name in names)
    return float(np.mean([np.linalg.norm(gap) for gap in gaps]))


def test_the_vectors_stay_in_their_space(sync: KGSync) -> None:
    sync.step()
    report = sync.rebuild(aligned=True)
    assert (report.action, report.version, report.previous) == ("rebuilt", 2, 1)
    assert report.graph_version == GRAPHS.format(version="11")
    near = _distance(sync, 1)
    sync.rebuild()
    assert 0 < near < _distance(sync, 1)
    assert not sync.step().changed


def test_the_report_says_how_they_were_aligned(sync: KGSync) -> None:
    sync.step()
    report = sync.rebuild(aligned=True)
    assert report.alignment is not None
    assert report.stability is not None
    assert "signed permutation and translation" in report.alignment["method"]
    for kind in ("entity", "relation"):
        before, after = report.alignment["stability_before"][kind], report.stability[kind]
        assert after is not None
        assert before["shared"] == after["shared"]
        assert before["nmc"] > 0
    assert f"aligned        {report.alignment['method']}" in str(report)
    assert sync.history()[-1].alignment == report.alignment
    assert sync.step().alignment is None


def test_the_metadata_says_it_too(tmp_path: Path) -> None:
    store = fill(ox.Store())
    settings = _settings("distmult")
    sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings)
    sync.step()
    report = sync.rebuild(aligned=True)
    graph = published(store, "urn:kgsync:state")
    assert complaints(graph) == ""
    runs = {str(run): str(said) for run, said in graph.subject_objects(KGE.alignment)}
    assert report.alignment is not None
    assert runs == {run_iri("urn:kgsync:state", 2): report.alignment["method"]}
    for kind in ("entity", "relation"):
        assert (None, None, KGE[f"{kind}MeanChangeBeforeAlignment"]) in graph


def test_other_settings_of_the_graph_may_have_changed(sync: KGSync) -> None:
    sync.step()
    sync.settings = replace(sync.settings, split=SplitSettings(key="other"))
    assert sync.rebuild(aligned=True).alignment is not None


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (ModelSettings("transe", 16), "8 numbers per entity.*transe with 16 numbers per entity"),
        (ModelSettings("distmult", 8), "are transe .* ask for distmult"),
    ],
    ids=["dimension", "model"],
)
def test_another_model_or_length_is_refused(sync: KGSync, model: ModelSettings, said: str) -> None:
    sync.step()
    sync.settings = replace(sync.settings, model=model)
    with pytest.raises(SettingsChangedError, match=f"{said}.*without --aligned"):
        sync.rebuild(aligned=True)
    assert sync.status().version == 1
    assert sync.rebuild().version == 2


def test_another_norm_is_no_obstacle(sync: KGSync) -> None:
    sync.step()
    sync.settings = replace(sync.settings, model=ModelSettings("transe", 8, norm="l2"))
    report = sync.rebuild(aligned=True)
    assert report.alignment is not None
    assert "orthogonal map" in report.alignment["method"]


def test_there_must_be_something_to_align_with(sync: KGSync) -> None:
    with pytest.raises(StateError, match="no vectors to align with"):
        sync.rebuild(aligned=True)
    assert sync.status().version is None


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "graph/edges.safetensors",
        "graph/terms.parquet",
        "embeddings/tensors.safetensors",
    ],
)
def test_a_damaged_version_is_nothing_to_align_with(tmp_path: Path, name: str) -> None:
    store, state = fill(ox.Store()), tmp_path / "state"
    KGSync(store, GRAPHS, state=state, settings=_settings()).step()
    (state / "000001" / name).write_bytes(b"garbage")
    fresh = KGSync(store, GRAPHS, state=state, settings=_settings())
    with pytest.raises(StateCorruptedError, match=r"damaged.*kgsync rebuild"):
        fresh.rebuild(aligned=True)
    assert (state / "000001").is_dir()
    assert KGSync(store, GRAPHS, state=state, settings=_settings()).rebuild().version == 2


def test_the_command_line_has_it(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1", "2"])
    (tmp_path / "kgsync.toml").write_text(
        f'[source]\nstore = "kg"\ngraphs = "{GRAPHS}"\n[model]\ndimension = 8\n'
        '[training]\nepochs = 5\n[run]\nbackend = "torch"\n'
    )
    refused = kgsync(tmp_path, "rebuild", "--aligned")
    assert refused.returncode == 5
    assert "nothing to align" in refused.stderr or "no vectors to align" in refused.stderr
    assert kgsync(tmp_path, "step").returncode == 0
    done = kgsync(tmp_path, "rebuild", "--aligned", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["action"] == "rebuilt"
    assert report["alignment"]["method"]

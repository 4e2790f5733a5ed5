"""`kgsync.load`: a version's files opened from anywhere, checked, and read where they lie."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

import kgsync
from kgsync import KGSync
from kgsync.common.durable import sealed
from kgsync.errors import ConfigError, StateCorruptedError, StateError, UnknownTermError
from tests.state.sidecars import embeddings, make_sync, random_sidecar
from tests.worlds import GRAPHS, iri

FILES = [
    "delta.parquet",
    "index.parquet",
    "sidecar.json",
    "tensors.safetensors",
    "vectors.parquet",
]


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory) -> KGSync:
    sync = make_sync(tmp_path_factory.mktemp("synced"))
    sync.catch_up()
    return sync


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return random_sidecar(tmp_path / "embeddings")


@pytest.mark.parametrize(
    "place", [".", "current.json", "000004", "000004/embeddings", "000004/embeddings/sidecar.json"]
)
def test_every_place_leads_to_the_same_vectors(synced: KGSync, place: str) -> None:
    found = kgsync.load(synced.state.path / place)
    assert (found.version, found.previous) == (4, 3)
    assert found.graph_version == GRAPHS.format(version="11")
    assert found.model == synced.state.version(4).manifest.model
    assert found.created == synced.state.version(4).manifest.created
    assert found.path.resolve() == embeddings(synced, 4).resolve()
    assert np.array_equal(found.vector(iri("e20")), synced.embedding(iri("e20")))
    relation = synced.relation_embedding(iri("likes"))
    assert np.array_equal(found.vector(iri("likes"), "relation"), relation)


def test_an_older_version_is_opened_by_its_folder(synced: KGSync) -> None:
    found = kgsync.load(str(synced.state.path / "000001"))
    assert found.version == 1
    assert np.array_equal(found.vector(iri("e9")), synced.at(1).embedding(iri("e9")))


def test_a_copied_folder_is_whole_by_itself(synced: KGSync, tmp_path: Path) -> None:
    copy = shutil.copytree(embeddings(synced, 4), tmp_path / "elsewhere")
    found = kgsync.load(copy)
    assert found.version == 4
    assert np.array_equal(found.vector(iri("e20")), synced.embedding(iri("e20")))


def test_neighbors_are_those_of_the_sync(synced: KGSync) -> None:
    found = kgsync.load(synced.state.path)
    assert found.neighbors(iri("e3"), 5) == synced.neighbors(iri("e3"), 5)
    several = [iri("e3"), iri("e5")]
    assert found.neighbors(several, 4) == synced.neighbors(several, 4)


def test_files_and_state_answer_alike(synced: KGSync, tmp_path: Path) -> None:
    files, state = kgsync.load(synced.state.path), synced.at()
    assert type(files) is type(state)
    for name in ("path", "version", "previous", "graph_version", "created", "model"):
        assert getattr(files, name) == getattr(state, name), name
    assert (len(files), repr(files)) == (len(state), repr(state))
    assert (iri("e3") in state, iri("nobody") in state) == (True, False)
    for kind in ("entity", "relation"):
        assert files.iris(kind).equals(state.iris(kind))
        assert np.array_equal(files.table(kind), state.table(kind))
    assert np.array_equal(files.embedding(iri("e3")), state.vector(iri("e3")))
    relation = state.vector(iri("likes"), "relation")
    assert np.array_equal(files.relation_embedding(iri("likes")), relation)
    triple = iri("e3"), iri("next"), iri("e4")
    assert files.score(*triple) == state.score(*triple)
    (one,), (other,) = files.export(tmp_path / "a.vec"), state.export(tmp_path / "b.vec")
    assert one.read_bytes() == other.read_bytes()


def test_files_alone_predict_without_knowing_the_graph(synced: KGSync, tmp_path: Path) -> None:
    found = kgsync.load(shutil.copytree(embeddings(synced, 4), tmp_path / "elsewhere"))
    for head, tail in ((iri("e3"), None), (None, iri("e4"))):
        alone = found.predict(relation=iri("next"), head=head, tail=tail, k=5)
        whole = synced.at().predict(relation=iri("next"), head=head, tail=tail, k=5)
        assert [(p.iri, p.score) for p in alone] == [(p.iri, p.score) for p in whole]
        assert {p.known for p in alone} == {None}
        assert {p.known for p in whole} <= {True, False}


def test_files_alone_say_that_they_lack_the_graph(synced: KGSync, tmp_path: Path) -> None:
    found = kgsync.load(shutil.copytree(embeddings(synced, 4), tmp_path / "elsewhere"))
    with pytest.raises(ConfigError, match=r"do not contain.*KGSync"):
        found.predict(relation=iri("next"), head=iri("e3"), new_only=True)
    with pytest.raises(StateError, match=r"no report.*KGSync"):
        _ = found.report
    assert synced.at().report.version == 4
    with pytest.raises(ConfigError, match="exactly one of head and tail"):
        found.predict(relation=iri("next"))


def test_rows_iris_and_vectors_belong_together(folder: Path) -> None:
    found = kgsync.load(folder)
    tensors = load_file(folder / "tensors.safetensors")
    assert len(found) == 500
    for kind in ("entity", "relation"):
        assert np.array_equal(found.table(kind), tensors[kind])
        names = found.iris(kind).to_pylist()
        assert len(names) == len(tensors[kind])
        for row, name in enumerate(names):
            assert np.array_equal(found.vector(name, kind), tensors[kind][row])


def test_tables_stay_on_disk_and_cannot_be_written(folder: Path) -> None:
    found = kgsync.load(folder)
    table = found.table("entity")
    assert isinstance(table, np.memmap)
    assert not table.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        table[0] = 1
    vector = found.vector(found.iris()[3].as_py())
    vector += 1  # a copy, which is the caller's own
    assert np.array_equal(table[3] + 1, vector)


def test_membership_is_that_of_entities(folder: Path) -> None:
    found = kgsync.load(folder)
    assert "http://example.org/é0" in found
    assert "http://example.org/e1" in found
    for stranger in ("http://example.org/e0", "http://example.org/r0", "", "\U0010ffff", 7, None):
        assert stranger not in found


def test_an_unknown_iri_is_answered_with_near_ones(synced: KGSync) -> None:
    found = kgsync.load(synced.state.path)
    with pytest.raises(UnknownTermError, match=f"did you mean.*<{iri('e31')}>"):
        found.vector(iri("e311"))
    with pytest.raises(KeyError):
        found.neighbors([iri("e3"), iri("nobody")])
    with pytest.raises(UnknownTermError, match="no relation"):
        found.vector(iri("e3"), "relation")
    with pytest.raises(ConfigError, match="entity"):
        found.table("entities")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in FILES if name != "sidecar.json"])
def test_one_wrong_byte_is_found(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(StateCorruptedError, match=rf"{name} does not match its checksum"):
        kgsync.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_copy_that_was_cut_off_is_found(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(StateCorruptedError, match=name):
        kgsync.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_copy_that_lacks_a_file_is_found(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(StateCorruptedError, match=name):
        kgsync.load(folder)


def test_through_current_json_the_description_is_checked_too(
    synced: KGSync, tmp_path: Path
) -> None:
    state = shutil.copytree(synced.state.path, tmp_path / "copy")
    described = state / "000004/embeddings/sidecar.json"
    described.write_text(described.read_text().replace("transe", "transh"))
    with pytest.raises(StateCorruptedError, match=r"sidecar\.json does not match its checksum"):
        kgsync.load(state)


def test_without_verification_only_what_is_used_is_needed(folder: Path) -> None:
    for name in ("vectors.parquet", "delta.parquet"):
        (folder / name).unlink()
    found = kgsync.load(folder, verify=False)
    assert found.vector("http://example.org/e1").shape == (16,)
    (folder / "index.parquet").unlink()
    with pytest.raises(StateCorruptedError, match=r"index\.parquet"):
        kgsync.load(folder, verify=False)


def test_what_is_open_outlives_its_files(tmp_path: Path) -> None:
    sync = make_sync(tmp_path)
    sync.step()
    name, relation = iri("e3"), iri("next")
    vectors = sync.embedding(name), sync.relation_embedding(relation)
    near = sync.neighbors(name, 3)
    found = kgsync.load(sync.state.path)
    sync.step()
    sync.state.drop_files([1])
    assert not found.path.exists()
    assert name in found
    assert np.array_equal(found.vector(name), vectors[0])
    assert np.array_equal(found.vector(relation, "relation"), vectors[1])
    assert found.neighbors(name, 3) == near
    (exported,) = found.export(tmp_path / "v.vec")
    assert exported.read_text().startswith(f"{len(found)} ")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"\xff" * 64,
        (2).to_bytes(8, "little") + b"[]",
        (20).to_bytes(8, "little") + b'{"entity": "nothing"}',
    ],
)
def test_tensors_that_are_none_are_refused_also_without_verification(
    folder: Path, content: bytes
) -> None:
    (folder / "tensors.safetensors").write_bytes(content)
    with pytest.raises(StateCorruptedError, match=r"tensors\.safetensors"):
        kgsync.load(folder, verify=False)


def test_files_of_two_versions_are_not_mixed(folder: Path, tmp_path: Path) -> None:
    other = random_sidecar(tmp_path / "other", entities=20)
    shutil.copy(other / "index.parquet", folder)
    with pytest.raises(StateCorruptedError, match="belong to different versions"):
        kgsync.load(folder, verify=False)


def test_descriptions_that_are_none_are_refused(folder: Path) -> None:
    path = folder / "sidecar.json"
    described = json.loads(path.read_text())
    path.write_text(json.dumps({**described, "format": 99}))
    with pytest.raises(StateError, match="has format 99"):
        kgsync.load(folder)
    path.write_text(json.dumps(sealed({key: described[key] for key in ("format", "version")})))
    with pytest.raises(StateCorruptedError, match=r"sidecar\.json lacks"):
        kgsync.load(folder)
    path.write_text("[]")
    with pytest.raises(StateCorruptedError, match="not what kgsync wrote"):
        kgsync.load(folder)


def test_a_description_that_was_changed_is_refused(folder: Path) -> None:
    path = folder / "sidecar.json"
    described = json.loads(path.read_text())
    for changed in (
        {**described, "version": described["version"] + 1},
        {**described, "files": {name: {} for name in described["files"]}},
        {key: value for key, value in described.items() if key != "sha256"},
    ):
        path.write_text(json.dumps(changed))
        with pytest.raises(StateCorruptedError, match="its own checksum"):
            kgsync.load(folder)


def test_places_without_embeddings_say_so(synced: KGSync, tmp_path: Path) -> None:
    with pytest.raises(StateError, match="no embeddings at"):
        kgsync.load(tmp_path)
    with pytest.raises(StateError, match="no embeddings at"):
        kgsync.load(tmp_path / "nowhere")
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(StateError, match="names no folder"):
        kgsync.load(tmp_path / "other.json")
    shutil.copy(synced.state.path / "CURRENT", tmp_path)
    with pytest.raises(StateError, match="kgsync step"):
        kgsync.load(tmp_path)


def test_opening_and_reading_need_no_torch(folder: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import kgsync\n"
        "found = kgsync.load(sys.argv[1])\n"
        "found.neighbors('http://example.org/e1')\n"
        "found.export(sys.argv[1] + '/out.vec')\n"
        "assert 'numba' not in sys.modules and 'rdflib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True)


@pytest.mark.parametrize("wrong", [None, 5, b"http://example.org/e1"])
def test_what_is_no_iri_is_a_type_error(folder: Path, wrong: Any) -> None:
    vectors = kgsync.load(folder)
    for ask in (vectors.embedding, vectors.vector, vectors.neighbors):
        with pytest.raises(TypeError, match="an IRI must be a string"):
            ask(wrong)
    with pytest.raises(TypeError, match="an IRI must be a string, not None"):
        vectors.neighbors([None])  # type: ignore[list-item]

"""`kgsync export`: other tools find every vector, bit by bit, under its IRI."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from usearch.index import Index

import kgsync
from kgsync import Embeddings
from kgsync.errors import ConfigError, StateWriteError
from kgsync.models.base import Kind
from kgsync.state.sidecar import load_vectors
from kgsync.vectors.export import export, format_of
from tests import processes
from tests.state.sidecars import make_sync, random_sidecar
from tests.worlds import GRAPHS, QUICK, disk_store


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Embeddings:
    return kgsync.load(random_sidecar(tmp_path_factory.mktemp("source") / "embeddings"))


def parsed(text: str) -> dict[str, np.ndarray]:
    """What a simple reader of word2vec text makes of it."""
    head, *lines = text.splitlines()
    rows, dimension = map(int, head.split(" "))
    found = {}
    for line in lines:
        iri, *numbers = line.split(" ")
        found[iri] = np.array([np.float32(number) for number in numbers])
        assert len(numbers) == dimension
    assert len(found) == len(lines) == rows
    return found


def bits(vectors: np.ndarray) -> list[int]:
    numbers: list[int] = np.ascontiguousarray(vectors).view(np.int32).tolist()
    return numbers


@pytest.mark.parametrize("name", ["v.vec", "v.txt", "v.vec.gz", "V.TXT.GZ"])
@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_word2vec_text_reads_back_bit_by_bit(
    source: Embeddings, tmp_path: Path, name: str, kind: Kind
) -> None:
    assert source.export(tmp_path / name, kind=kind) == [tmp_path / name]
    content = (tmp_path / name).read_bytes()
    if name.lower().endswith("gz"):
        content = gzip.decompress(content)
    found = parsed(content.decode())
    assert list(found) == source.iris(kind).to_pylist()
    assert all(bits(v) == bits(source.vector(iri, kind)) for iri, v in found.items())


def test_long_tables_are_written_in_parts(
    source: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.export(tmp_path / "whole.vec")
    monkeypatch.setattr("kgsync.vectors.export._AT_A_TIME", 100)
    source.export(tmp_path / "parts.vec")
    assert (tmp_path / "parts.vec").read_bytes() == (tmp_path / "whole.vec").read_bytes()


def test_extreme_numbers_survive_as_text(tmp_path: Path) -> None:
    limits = np.finfo(np.float32)
    numbers = [
        limits.max,
        limits.tiny,
        limits.smallest_subnormal,
        -0.0,
        1e-5,
        16777216,
        1 / 3,
        1e21,
    ]
    table = np.array([numbers], np.float32)
    export(tmp_path / "x.vec", {"entity": (pa.array(["urn:x"]), table)}, "entity")
    assert bits(parsed((tmp_path / "x.vec").read_text())["urn:x"]) == bits(table[0])


def test_npz_can_be_adopted_and_needs_no_pickle(source: Embeddings, tmp_path: Path) -> None:
    source.export(tmp_path / "v.npz")
    with np.load(tmp_path / "v.npz", allow_pickle=False) as arrays:
        assert sorted(arrays) == [
            "entity_iris",
            "entity_vectors",
            "relation_iris",
            "relation_vectors",
        ]
        assert arrays["entity_vectors"].dtype == np.float32
    for kind, (iris, vectors) in load_vectors(tmp_path / "v.npz").items():
        assert iris == source.iris(kind).to_pylist()  # type: ignore[arg-type]
        assert np.array_equal(vectors, source.table(kind))  # type: ignore[arg-type]


def test_one_long_iri_does_not_make_an_npz_of_gigabytes(tmp_path: Path) -> None:
    iris = pa.array([*(f"urn:{i}" for i in range(300_000)), "urn:" + "x" * 2000])
    vectors = {"entity": (iris, np.zeros((len(iris), 1), np.float32))}
    with pytest.raises(ConfigError, match=r"2\.2 GB.*2,004 characters; export them as parquet"):
        export(tmp_path / "v.npz", vectors, "entity")
    assert not list(tmp_path.iterdir())
    export(tmp_path / "v.parquet", vectors, "entity")
    assert pq.read_table(tmp_path / "v.parquet")["iri"].combine_chunks().equals(iris)


def test_an_exported_npz_starts_another_sync_unmoved(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first = make_sync(tmp_path / "one")
    first.step()
    kgsync.load(first.state.path).export(tmp_path / "v.npz")
    second = make_sync(tmp_path / "two")
    assert second.adopt(tmp_path / "v.npz").action == "adopted"
    one, two = (kgsync.load(sync.state.path) for sync in (first, second))
    assert np.array_equal(one.table("entity"), two.table("entity"))
    assert one.iris("entity").equals(two.iris("entity"))


def test_parquet_has_lists_of_one_fixed_length(source: Embeddings, tmp_path: Path) -> None:
    source.export(tmp_path / "v.parquet", kind="relation")
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.column_names == ["iri", "vector"]
    assert table.schema.field("vector").type.list_size == 16
    assert table["iri"].to_pylist() == source.iris("relation").to_pylist()
    assert np.array_equal(
        np.array(table["vector"].to_pylist(), np.float32), source.table("relation")
    )
    rows = duckdb.execute(f"SELECT count(*) FROM '{tmp_path / 'v.parquet'}'").fetchone()
    assert rows == (4,)


def test_the_index_finds_the_exact_neighbors(source: Embeddings, tmp_path: Path) -> None:
    index_file, names_file = source.export(tmp_path / "v.usearch")
    assert names_file == tmp_path / "v.iris.parquet"
    index = Index.restore(str(index_file))
    assert index is not None
    names = pq.read_table(names_file)
    assert names["key"].to_pylist() == list(range(500))
    assert names["iri"].to_pylist() == source.iris().to_pylist()
    asked = source.iris().to_pylist()[:100]
    hits = 0
    for iri, exact in zip(asked, source.neighbors(asked, 10), strict=True):
        matches = index.search(source.vector(iri), 11)
        found = {names["iri"][int(key)].as_py() for key in matches.keys} - {iri}
        hits += len(found & {neighbor.iri for neighbor in exact})
    assert hits / 1000 >= 0.9


def test_without_usearch_the_error_says_what_to_install(
    source: Embeddings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ConfigError, match=r"install kgsync\[index\]"):
        source.export(tmp_path / "v.usearch")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["v.vec", "v.npz", "v.parquet", "v.usearch"])
def test_nothing_is_overwritten_unasked(source: Embeddings, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConfigError, match="--force"):
        source.export(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"
    source.export(tmp_path / name, force=True)
    assert (tmp_path / name).read_bytes() != b"mine"


def test_the_iris_of_another_index_are_not_overwritten(source: Embeddings, tmp_path: Path) -> None:
    (tmp_path / "v.iris.parquet").write_text("mine")
    with pytest.raises(ConfigError, match=r"v\.iris\.parquet already exists"):
        source.export(tmp_path / "v.usearch")
    assert [path.name for path in tmp_path.iterdir()] == ["v.iris.parquet"]


@pytest.mark.parametrize("name", ["v.vec", "v.npz", "v.parquet", "v.usearch", "v.vec.gz"])
def test_an_export_that_fails_leaves_nothing(
    source: Embeddings, small_disk: Path, name: str
) -> None:
    (small_disk / "full").write_bytes(b"x" * ((16 << 20) - 8192))
    with pytest.raises(StateWriteError, match="cannot write"):
        source.export(small_disk / name)
    assert [path.name for path in small_disk.iterdir()] == ["full"]


def test_a_folder_that_is_not_there_is_an_error(source: Embeddings, tmp_path: Path) -> None:
    for name in ("v.vec", "v.usearch"):
        with pytest.raises(ConfigError, match=r"No such file.*choose another path"):
            source.export(tmp_path / "nowhere" / name)


def test_the_format_is_named_or_told_by_the_name() -> None:
    assert format_of(Path("a/b.txt")) == "word2vec"
    assert format_of(Path("a/b.txt"), "npz") == "npz"
    with pytest.raises(ConfigError, match=r"has no known suffix.*word2vec"):
        format_of(Path("a/b.bin"))
    with pytest.raises(ConfigError, match="unknown format 'faiss'"):
        format_of(Path("a/b.vec"), "faiss")


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return processes.kgsync(folder, "export", *arguments)


def test_the_command_exports_the_current_version_or_a_kept_one(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1", "2"])
    (tmp_path / "kgsync.toml").write_text(QUICK.format(graphs=GRAPHS))
    assert command(tmp_path, "v.vec").returncode == 5  # nothing yet
    sync = kgsync.KGSync.from_config(tmp_path / "kgsync.toml")
    sync.catch_up()

    done = command(tmp_path, "v.vec")
    assert done.returncode == 0, done.stderr
    assert "wrote v.vec: 40 vectors of version 2" in done.stdout
    found = parsed((tmp_path / "v.vec").read_text())
    assert all(bits(v) == bits(sync.embedding(iri)) for iri, v in found.items())

    arguments = ("old.bin", "--format", "word2vec", "--kind", "relation", "--at", "1", "--json")
    done = command(tmp_path, *arguments)
    assert json.loads(done.stdout) == {
        "version": 1,
        "graph_version": GRAPHS.format(version="1"),
        "format": "word2vec",
        "kind": "relation",
        "rows": 3,
        "dimension": 8,
        "files": ["old.bin"],
    }
    found = parsed((tmp_path / "old.bin").read_text())
    assert all(bits(v) == bits(sync.at(1).relation_embedding(iri)) for iri, v in found.items())

    assert command(tmp_path, "v.vec").returncode == 2
    assert command(tmp_path, "v.vec", "--force", "--at", "1").returncode == 0
    assert command(tmp_path, "v.npz", "--at", "9").returncode == 2
    assert command(tmp_path, "v.npz", "--kind", "edge").returncode == 2

"""Files of vectors from elsewhere: read, or refused in one sentence, without much memory."""

from __future__ import annotations

import io
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kgsync.errors import ConfigError
from kgsync.state.sidecar import load_vectors
from tests.worlds import disk_store

NAMES = ("entity_iris", "entity_vectors", "relation_iris", "relation_vectors")


def arrays() -> dict[str, Any]:
    return {
        "entity_iris": np.array(["urn:a", "urn:bb"]),
        "entity_vectors": np.arange(6, dtype=np.float32).reshape(2, 3),
        "relation_iris": np.array(["urn:r"]),
        "relation_vectors": np.ones((1, 3)),
    }


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def with_member(path: Path, name: str, body: bytes) -> None:
    """A good file with one member replaced."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in NAMES:
            archive.writestr(f"{one}.npy", body if one == name else npy(arrays()[one]))


def header(shape: str, descr: str = "'<f4'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def damaged(path: Path) -> None:
    np.savez_compressed(path, **arrays())
    data = bytearray(path.read_bytes())
    data[60:200] = bytes(140)
    path.write_bytes(data)


def cut(path: Path) -> None:
    np.savez(path, **arrays())
    path.write_bytes(path.read_bytes()[:-40])


def bomb(path: Path) -> None:
    head = header("(200000000000, 3)")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in NAMES:
            if one != "entity_vectors":
                archive.writestr(f"{one}.npy", npy(arrays()[one]))
                continue
            with archive.open(f"{one}.npy", "w", force_zip64=True) as stream:
                stream.write(head)
                stream.write(bytes(1 << 22))
    # What it says of its size is in the directory at the end of the file.
    data, size = path.read_bytes(), len(head) + (1 << 22)
    path.write_bytes(data.replace(size.to_bytes(4, "little"), (0xFFFFFFF0).to_bytes(4, "little")))


JUNK: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "text": lambda path: path.write_bytes(b"no zip at all" * 100),
    "the start of a zip": lambda path: path.write_bytes(b"PK\x03\x04" + bytes(500)),
    "damaged": damaged,
    "cut": cut,
    "one array": lambda path: path.write_bytes(npy(np.ones(3))),
    "a pickle": lambda path: path.write_bytes(npy(np.array([{}], object))),
    "objects": lambda path: with_member(path, "entity_iris", npy(np.array(["urn:a", 1], object))),
    "a million million numbers": lambda path: with_member(
        path, "entity_vectors", header("(1000000, 1000000)")
    ),
    "a header without end": lambda path: with_member(
        path, "entity_vectors", b"\x93NUMPY\x01\x00\xff\xff" + b"[" * 65535
    ),
    "a negative shape": lambda path: with_member(path, "entity_vectors", header("(-1, 3)")),
    "a shape of text": lambda path: with_member(path, "entity_vectors", header("('a', 3)")),
    "no type": lambda path: with_member(path, "entity_vectors", header("(2, 3)", "'|V0'")),
    "another version": lambda path: with_member(path, "entity_vectors", b"\x93NUMPY\x09\x00"),
    "a bomb": bomb,
    "a missing array": lambda path: np.savez(path, entity_iris=np.array(["urn:a"])),
}


def test_good_files_are_read_as_before(tmp_path: Path) -> None:
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "v.npz", **{**arrays(), "entity_vectors": np.asfortranarray(np.eye(2, 3))})
        found = load_vectors(tmp_path / "v.npz")
        assert found["entity"][0] == ["urn:a", "urn:bb"]
        assert (found["entity"][1] == np.eye(2, 3)).all()
        assert found["relation"][1].tolist() == [[1, 1, 1]]


@pytest.mark.parametrize("kind", JUNK)
def test_junk_is_refused_in_one_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "v.npz"
    JUNK[kind](path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ConfigError, match=r"cannot read vectors from .*v\.npz") as error:
        load_vectors(path)
    assert "\n" not in str(error.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_more_than_the_memory_there_is_is_refused_before_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "v.npz", **{**arrays(), "entity_vectors": np.zeros((2, 10**6))})
    monkeypatch.setattr("kgsync.state.npz.available_bytes", lambda: 1 << 20)
    with pytest.raises(ConfigError, match="more than half of the free memory"):
        load_vectors(tmp_path / "v.npz")


@pytest.mark.parametrize("kind", ["text", "a million million numbers"])
def test_the_command_line_shows_no_traceback(tmp_path: Path, kind: str) -> None:
    JUNK[kind](tmp_path / "v.npz")
    disk_store(tmp_path / "kg", ["1"])
    done = subprocess.run(
        [sys.executable, "-m", "kgsync", "init", "kg", "--from", "v.npz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1

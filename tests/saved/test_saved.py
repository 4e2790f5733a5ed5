"""A state and vectors of an earlier release: read, continued and reproduced bit by bit."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

import kgsync
from kgsync import KGSync
from kgsync.cli.commands.demo import GRAPHS
from kgsync.cli.demo_graph import HEROINE
from tests.saved.histories import (
    ARCHIVES,
    FOLDER,
    NEWEST,
    VERSIONS,
    cases,
    checksums,
    demo_store,
    machine,
    run_case,
    settings,
)

_SAVED = json.loads((FOLDER / "checksums.json").read_text(encoding="utf-8"))
_TYPICAL = ("demo", "distmult", "cpu"), ("demo", "transe", "torch")
_CASES = [
    pytest.param(case, marks=[] if case in _TYPICAL else [pytest.mark.torture]) for case in cases()
]


def _need_the_same_machine() -> None:
    changed = {name: was for name, was in _SAVED["machine"].items() if machine()[name] != was}
    if changed:
        pytest.skip(f"the last bits were saved with {changed}, here it is {machine()}")


@pytest.fixture(params=ARCHIVES)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> KGSync:
    """A sync whose state has all versions but the last two."""
    with tarfile.open(FOLDER / request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    store = demo_store(tmp_path)
    return KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings("transe", "cpu"))


@pytest.mark.parametrize("case", _CASES, ids=" ".join)
def test_the_same_history_gives_the_same_bytes(
    case: tuple[str, str, str], request: pytest.FixtureRequest
) -> None:
    _need_the_same_machine()
    data = request.getfixturevalue("real_data") if case[0] == "nomisma" else None
    assert run_case(*case, data) == _SAVED[" ".join(case)]


def test_a_saved_state_is_read(saved: KGSync, tmp_path: Path) -> None:
    assert [report.version for report in saved.history()] == [1, 2, 3]
    vectors = kgsync.load(tmp_path / "state")
    assert vectors.version == VERSIONS - 2
    iri = HEROINE
    assert saved.neighbors(iri, 3) == vectors.neighbors(iri, 3)
    assert np.array_equal(saved.embedding(iri), vectors.vector(iri))
    older = kgsync.load(tmp_path / "state/000002/embeddings")
    assert np.array_equal(saved.at(2).embedding(iri), older.vector(iri))


def test_a_saved_state_goes_on_as_it_would_have(
    saved: KGSync, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    assert [report.version for report in saved.catch_up()] == [4, 5]
    if request.node.callspec.params["saved"] != NEWEST:
        return  # what an earlier release began, it would have continued with other random numbers
    _need_the_same_machine()
    for version in (4, 5):
        found = checksums(tmp_path / "state" / f"{version:06d}")
        assert found == _SAVED["demo transe cpu"][version - 1]


def test_a_saved_state_is_rolled_back_and_goes_on(saved: KGSync) -> None:
    saved.rollback(1)
    assert saved.status().version == 1
    assert [report.version for report in saved.catch_up()] == [4, 5, 6, 7]

"""Reading needs neither torch nor numba: scores of numpy tables are those of tensors."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch

from kgsync.cli.commands.demo import GRAPHS
from kgsync.models import scorer
from kgsync.models.base import Model
from tests.models.cases import EVERY_CASE, ModelCase
from tests.saved.histories import FOLDER

ENTITIES, RELATIONS = 5000, 3

every_model = pytest.mark.parametrize("case", EVERY_CASE, ids=lambda case: case.name)

READ = """
import sys
from pathlib import Path

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "numba", "llvmlite"):
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
import kgsync
from kgsync import KGSync
from kgsync.models import MODELS

assert len(MODELS) >= 7
folder = Path(sys.argv[1])
vectors = kgsync.load(folder)
one, relation = vectors.iris()[0].as_py(), vectors.iris("relation")[0].as_py()
assert len(vectors.neighbors(one, 3)) == 3
sync = KGSync(folder.parent / "graph.oxigraph", sys.argv[2], state=folder)
assert sync.neighbors(one, 3) == vectors.neighbors(one, 3)
(best, *_) = sync.predict(head=one, relation=relation, k=3)
assert best.score == sync.at().score(one, relation, best.iri)
assert len(sync.predict(tail=one, relation=relation, k=3)) == 3
assert sync.moves(one) == []  # the state is of a release that kept no records
"""


def test_a_saved_state_is_read_without_torch_and_numba(tmp_path: Path) -> None:
    with tarfile.open(FOLDER / "state.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    command = [sys.executable, "-c", READ, str(tmp_path / "state"), GRAPHS]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _plain(model: Model) -> dict[str, np.ndarray]:
    return {name: table.numpy() for name, table in model.tables.items()}


@every_model
def test_numpy_gives_the_scores_of_torch(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS)
    by_numpy, everyone = scorer(case.settings, _plain(model)), model.rows("entity", slice(None))
    for row, relation in ((7, 0), (4321, 2)):
        given, predicate = (
            model.rows("entity", slice(row, row + 1)),
            model.rows("relation", slice(relation, relation + 1)),
        )
        tails = model.score_tails(given, predicate, everyone)[0].numpy()
        heads = model.score_heads(given, predicate, everyone)[0].numpy()
        np.testing.assert_allclose(by_numpy.tails(row, relation), tails, rtol=1e-9)
        np.testing.assert_allclose(by_numpy.heads(row, relation), heads, rtol=1e-9)
        assert by_numpy.score(row, relation, 99) == by_numpy.tails(row, relation)[99]


@every_model
def test_single_scores_of_numpy_rows_are_those_of_torch(case: ModelCase) -> None:
    model = case.random(12, RELATIONS)
    plain = type(model)(case.settings, {name: t.numpy() for name, t in model.tables.items()})  # type: ignore[misc]
    rows, relations = np.arange(12), np.arange(12) % RELATIONS

    def score(chosen: Model, h: object, r: object, t: object) -> object:
        head, tail = chosen.rows("entity", h), chosen.rows("entity", t)  # type: ignore[arg-type]
        return chosen.score(head, chosen.rows("relation", r), tail)  # type: ignore[arg-type]

    expected = score(model, *(torch.from_numpy(x.copy()) for x in (rows, relations, rows[::-1])))
    found = score(plain, rows, relations, rows[::-1])
    assert isinstance(found, np.ndarray)
    assert isinstance(expected, torch.Tensor)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-9)


@every_model
def test_candidates_with_equal_vectors_get_equal_scores_from_numpy(case: ModelCase) -> None:
    model = case.random(ENTITIES, RELATIONS, dtype=torch.float32)
    twins = torch.arange(0, ENTITIES, 7)
    for name in model.names("entity"):
        model.tables[name][twins] = model.tables[name][500].clone()
    by_numpy = scorer(case.settings, _plain(model))
    for scores in (by_numpy.tails(3, 1), by_numpy.heads(3, 1)):
        assert len(np.unique(scores[twins.numpy()])) == 1
        assert scores[0] == scores[700]
        assert len(np.unique(scores)) > 1000

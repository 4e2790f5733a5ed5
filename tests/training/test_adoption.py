"""Vectors that were trained elsewhere are taken over unmoved, by IRI."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
import torch
from numpy.typing import NDArray

from kgsync.config import ModelSettings, Settings
from kgsync.errors import ConfigError
from kgsync.graph.terms import TermIndex
from kgsync.models.base import TableSpec
from kgsync.models.transe import TransE
from kgsync.training import adoption
from kgsync.training.adoption import adopt_vectors
from kgsync.training.problem import Problem
from tests.training.graphs import Version

DIMENSION = 3
# Ids by IRI order: a 0, b 1, c 2, d 3, gone 4; knows 0, likes 1. "gone" has no edge any more.
TERMS = TermIndex().extended(
    pa.array(["http://x/d", "http://x/a", "http://x/c", "http://x/gone", "http://x/b"]),
    pa.array(["http://x/likes", "http://x/knows"]),
)
VERSION = Version(train=((0, 0, 1), (1, 1, 3)), test=((3, 0, 2),))

Given = tuple[list[str], NDArray[np.float32]]


def _problem(dimension: int = DIMENSION) -> Problem:
    return VERSION.problem(Settings(model=ModelSettings(name="transe", dimension=dimension)))


def _vectors(names: Sequence[str], seed: int, dimension: int = DIMENSION) -> Given:
    random = np.random.default_rng(seed)
    iris = [f"http://x/{name}" for name in names]
    return iris, random.normal(size=(len(iris), dimension)).astype(np.float32)


RELATIONS = _vectors(["knows", "likes"], 1)


def test_adopted_vectors_are_equal_to_the_bit() -> None:
    entities = _vectors(["c", "a", "d", "b"], 0)
    model, counts = adopt_vectors(
        _problem(), TERMS, {"entity": entities, "relation": RELATIONS}, "file"
    )
    assert counts == {"adopted": 6, "without_vector": 0, "unused_vectors": 0}
    for name, row in (("a", 0), ("b", 1), ("c", 2), ("d", 3)):
        expected = entities[1][entities[0].index(f"http://x/{name}")]
        np.testing.assert_array_equal(model.tables["entity"][row].numpy(), expected)
    np.testing.assert_array_equal(model.tables["relation"].numpy(), RELATIONS[1])


def test_elements_without_a_vector_get_the_mean_and_are_counted() -> None:
    entities, relations = _vectors(["d", "a"], 0), _vectors(["likes"], 1)
    model, counts = adopt_vectors(
        _problem(), TERMS, {"entity": entities, "relation": relations}, "file"
    )
    # b, c and knows
    assert counts == {"adopted": 3, "without_vector": 3, "unused_vectors": 0}
    for row in (1, 2):
        np.testing.assert_allclose(
            model.tables["entity"][row].numpy(), entities[1].mean(axis=0), rtol=1e-6
        )
    np.testing.assert_array_equal(model.tables["relation"][0].numpy(), relations[1][0])
    np.testing.assert_array_equal(model.tables["relation"][1].numpy(), relations[1][0])


def test_the_mean_is_over_vectors_that_belong_to_the_graph() -> None:
    entities = _vectors(["a", "unheard-of", "d", "gone"], 0)
    model, _ = adopt_vectors(_problem(), TERMS, {"entity": entities, "relation": RELATIONS}, "file")
    mean = entities[1][[0, 2]].mean(axis=0)
    np.testing.assert_allclose(model.tables["entity"][1].numpy(), mean, rtol=1e-6)


def test_vectors_of_what_does_not_live_in_the_graph_are_ignored() -> None:
    names = ["unheard-of", "b", "gone", "a", "c", "d"]
    entities = _vectors(names, 0)
    model, counts = adopt_vectors(
        _problem(), TERMS, {"entity": entities, "relation": RELATIONS}, "file"
    )
    assert counts == {"adopted": 6, "without_vector": 0, "unused_vectors": 2}
    assert model.sizes == {"entity": 4, "relation": 2}
    for name, row in (("a", 0), ("b", 1), ("c", 2), ("d", 3)):
        expected = entities[1][names.index(name)]
        np.testing.assert_array_equal(model.tables["entity"][row].numpy(), expected)


def test_adopted_vectors_can_be_trained_on_without_touching_the_file() -> None:
    entities = _vectors(["a", "b", "c", "d"], 0)
    kept = entities[1].copy()
    model, _ = adopt_vectors(_problem(), TERMS, {"entity": entities, "relation": RELATIONS}, "f")
    assert model.tables["entity"].dtype == torch.float32
    model.tables["entity"].add_(1.0)
    np.testing.assert_array_equal(entities[1], kept)


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_vectors_of_another_dimension_are_refused(kind: str) -> None:
    vectors = {"entity": _vectors(["a", "b"], 0), "relation": RELATIONS}
    vectors[kind] = _vectors(["a", "knows"], 0, dimension=5)
    with pytest.raises(ConfigError, match=rf"{kind} vectors of length 5.*dimension 3"):
        adopt_vectors(_problem(), TERMS, vectors, "vectors.npz")


@pytest.mark.parametrize("kind", ["entity", "relation"])
def test_vectors_of_another_graph_are_refused(kind: str) -> None:
    vectors = {"entity": _vectors(["a", "b"], 0), "relation": RELATIONS}
    vectors[kind] = _vectors(["unheard-of", "gone"], 0)
    with pytest.raises(ConfigError, match=rf"no {kind} IRI of vectors\.npz"):
        adopt_vectors(_problem(), TERMS, vectors, "vectors.npz")


def test_an_entity_iri_does_not_serve_as_a_relation() -> None:
    vectors = {"entity": _vectors(["a", "b"], 0), "relation": _vectors(["a"], 1)}
    with pytest.raises(ConfigError, match="no relation IRI"):
        adopt_vectors(_problem(), TERMS, vectors, "file")


def test_a_model_with_more_tables_than_the_file_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class WithNormals(TransE):
        @classmethod
        def layout(cls, settings: ModelSettings) -> dict[str, TableSpec]:
            width = settings.dimension
            return {**super().layout(settings), "normal": TableSpec("relation", width)}

    monkeypatch.setattr(adoption, "model_class", lambda name: WithNormals)
    vectors = {"entity": _vectors(["a"], 0), "relation": RELATIONS}
    with pytest.raises(ConfigError, match="normal"):
        adopt_vectors(_problem(), TERMS, vectors, "file")

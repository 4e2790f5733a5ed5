"""What a training run works on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kgsync.config import EvaluationSettings, ModelSettings, Settings
from kgsync.evaluation.ranking import link_prediction
from kgsync.models import model_class
from tests.training.graphs import Triple, Version, as_triples, ring

MODEL = ModelSettings(name="transe", dimension=4)
EDGES = ring(20, 1, 3)
VERSION = Version(train=EDGES[:25], validation=EDGES[25:33], test=EDGES[33:])


def _settings(validation_sample: int = 0, test_sample: int = 0) -> Settings:
    evaluation = EvaluationSettings(validation_sample=validation_sample, test_sample=test_sample)
    return Settings(model=MODEL, evaluation=evaluation)


def test_training_triples_are_numbered_by_the_living_of_the_whole_version() -> None:
    version = Version(train=((10, 5, 30),), validation=((20, 7, 10),))
    problem = version.problem(_settings())
    assert problem.active.entities.tolist() == [10, 20, 30]
    assert as_triples(problem.train) == [(0, 0, 2)]
    assert as_triples(problem.validation_sample) == [(1, 1, 0)]


def test_all_held_out_triples_are_ranked_if_no_sample_is_asked_for() -> None:
    problem = VERSION.problem(_settings())
    assert sorted(as_triples(problem.validation_sample)) == sorted(VERSION.validation)
    assert sorted(as_triples(problem.test_sample)) == sorted(VERSION.test)


@pytest.mark.parametrize("size", [8, 100])
def test_a_sample_as_large_as_the_part_is_the_part(size: int) -> None:
    problem = VERSION.problem(_settings(validation_sample=size))
    assert sorted(as_triples(problem.validation_sample)) == sorted(VERSION.validation)


def test_a_sample_is_a_fixed_part_without_doubles() -> None:
    def sample(seed: int) -> list[Triple]:
        return as_triples(VERSION.problem(_settings(4, 3), seed=seed).validation_sample)

    assert len(set(sample(0))) == 4
    assert set(sample(0)) <= set(VERSION.validation)
    assert all(sample(0) == sample(seed) for seed in range(5))
    problem = VERSION.problem(_settings(4, 3))
    assert set(as_triples(problem.test_sample)) <= set(VERSION.test)
    assert problem.test_sample.shape == (3, 3)


def test_a_sample_persists_from_version_to_version() -> None:
    before = set(as_triples(VERSION.problem(_settings(4, 3)).validation_sample))
    for gone in VERSION.validation:
        left = tuple(triple for triple in VERSION.validation if triple != gone)
        # The triple goes on as a training triple, so that no row changes its number.
        later = replace(VERSION, train=(*VERSION.train, gone), validation=left)
        after = set(as_triples(later.problem(_settings(4, 3)).validation_sample))
        assert before - {gone} <= after
        assert len(after) == 4


def test_quality_says_what_it_was_sampled_from() -> None:
    problem = VERSION.problem(_settings(validation_sample=4, test_sample=3))
    model = model_class("transe").random(MODEL, 20, 2, problem.seeds.torch("any"))
    validated, tested = problem.validate(model), problem.test(model)
    assert (validated.triples, validated.sampled_from) == (4, 8)
    assert validated.mrr_error > 0
    assert tested is not None
    assert (tested.triples, tested.sampled_from) == (3, 7)


def test_ranking_is_filtered_by_the_triples_of_all_parts() -> None:
    problem = VERSION.problem(_settings())
    model = model_class("transe").random(MODEL, 20, 2, problem.seeds.torch("any"))
    quality = link_prediction(model, problem.test_sample, problem.known, 1, 7)
    assert problem.test(model) == quality
    heads, relations, tails = np.array(EDGES).T
    answers = problem.known.find("tail", heads, relations)
    pairs = answers.numbers(heads, relations)
    assert answers.contain(pairs, tails).all()
    assert len(answers.entities) == len(EDGES)


def test_an_empty_test_part_has_no_quality() -> None:
    problem = Version(train=EDGES).problem(_settings())
    model = model_class("transe").random(MODEL, 20, 2, problem.seeds.torch("any"))
    assert problem.test(model) is None

"""TorchKGE as a contestant: the loop of its documentation, on kgsync's optimisers.

Its own `Trainer` of 0.17.7 fails before the first epoch, so its users write this loop. TransH and
TransD have its only norm, L2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torchkge import models
from torchkge.data_structures import KnowledgeGraph
from torchkge.evaluation import LinkPredictionEvaluator
from torchkge.sampling import UniformNegativeSampler
from torchkge.utils import DataLoader, LogisticLoss, MarginLoss

from kgsync.models import MODELS as OURS
from tests.benchmarks.training.clock import Clock
from tests.benchmarks.training.fb15k import BATCH, Fb15k

__all__ = ["MODELS", "ranker", "train"]

MODELS: dict[str, Callable[[int, int, int], Any]] = {
    "transe": lambda d, n, m: models.TransEModel(d, n, m, dissimilarity_type="L1"),
    "distmult": models.DistMultModel,
    "transh": models.TransHModel,
    "transd": lambda d, n, m: models.TransDModel(d, d, n, m),
    "rescal": models.RESCALModel,
    "analogy": models.AnalogyModel,
}

_RANKED_AT_A_TIME = 32


def train(graph: Fb15k, model: str, threads: int, clock: Clock) -> None:
    """One uniform negative a positive, until the clock has seen enough."""
    torch.set_num_threads(threads)
    started = _model(graph, model)
    triples = _knowledge_graph(graph, graph.train)
    loader, sampler = DataLoader(triples, batch_size=BATCH), UniformNegativeSampler(triples)
    margin = OURS[model].optimizer == "sgd" or model == "rescal"
    criterion = MarginLoss(1.0) if margin else LogisticLoss()
    chosen = torch.optim.SGD if OURS[model].optimizer == "sgd" else torch.optim.Adagrad
    optimizer = chosen(started.parameters(), lr=OURS[model].learning_rate)
    while True:
        for heads, tails, relations in loader:
            false_heads, false_tails = sampler.corrupt_batch(heads, tails, relations)
            optimizer.zero_grad()
            scores = started(heads, tails, relations, false_heads, false_tails)
            criterion(*scores).backward()
            optimizer.step()
        started.normalize_parameters()
        clock()


def ranker(graph: Fb15k, model: str) -> Callable[[int], None]:
    """Ranks both sides of so many test triples; its index of known triples is made before."""
    torch.set_num_threads(1)
    started = _model(graph, model).eval()
    known = _knowledge_graph(graph, graph.everything)

    def rank(count: int) -> None:
        tested = _knowledge_graph(graph, graph.test[:, :count], known)
        with torch.no_grad():
            LinkPredictionEvaluator(started, tested).evaluate(_RANKED_AT_A_TIME, verbose=False)

    return rank


def _model(graph: Fb15k, name: str) -> Any:
    return MODELS[name](OURS[name].dimension, graph.entities, graph.relations)


def _knowledge_graph(graph: Fb15k, rows: np.ndarray, known: Any = None) -> Any:
    heads, relations, tails = (torch.from_numpy(column.copy()) for column in rows)
    indexes = ("dict_of_heads", "dict_of_tails", "dict_of_rels")
    return KnowledgeGraph(
        kg={"heads": heads, "tails": tails, "relations": relations},
        ent2ix={number: number for number in range(graph.entities)},
        rel2ix={number: number for number in range(graph.relations)},
        **({name: getattr(known, name) for name in indexes} if known else {}),
    )

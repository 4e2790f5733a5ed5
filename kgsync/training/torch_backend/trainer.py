"""The two kinds of epoch: general (all training triples) and change-specific (alg. changespecs)."""

from __future__ import annotations

import numpy as np

from kgsync.common.cost import Cost
from kgsync.graph.active import TripleRows
from kgsync.models.base import Model, Rows
from kgsync.training.moving import with_training_triples
from kgsync.training.samplers import CorrectedSampler, CorruptedSampler
from kgsync.training.settings import NegativeSampling
from kgsync.training.torch_backend.steps import TorchSteps

__all__ = ["Trainer"]


class Trainer:
    """Runs epochs on one model; holds what they share."""

    def __init__(
        self,
        model: Model,
        train: TripleRows,
        batches: int,
        random: np.random.Generator,
        cost: Cost,
        device: str = "cpu",
        sampling: NegativeSampling = "uniform",
        states: Rows | None = None,
    ) -> None:
        """Prepare for training.

        Args:
            model: The model, on the CPU, changed in place after every epoch.
            train: Rows of the training triples.
            batches: Batches per general epoch.
            random: Source of randomness.
            cost: Counters to increase.
            device: Where torch computes.
            sampling: The method of negative sampling.
            states: The optimiser's states so far, changed in place; fresh by default.
        """
        counts = model.sizes["entity"], model.sizes["relation"]
        self._train = train
        self._batches = batches
        self._random = random
        moving = with_training_triples(train, *counts)
        self._steps = TorchSteps(model, moving, cost, device, states)
        self._corrupted = CorruptedSampler(train, *counts, random, sampling)

    def general_epoch(self, learning_rate: float) -> float:
        """One pass over the shuffled training triples; returns the mean loss per batch."""
        order = self._random.permutation(self._train.shape[1])
        losses = []
        self._steps.fetch()
        for chosen in np.array_split(order, max(1, min(self._batches, len(order)))):
            positive = self._train[:, chosen]
            negative, possible = self._corrupted.draw(positive)
            pairs = positive[:, possible], negative[:, possible]
            losses.append(self._steps.step(*pairs, learning_rate))
        self._steps.bring_back()
        return float(np.mean(losses))

    def change_epoch(
        self,
        added: TripleRows,
        deleted: TripleRows,
        corrected: CorrectedSampler,
        learning_rate: float,
    ) -> float:
        """One gradient step over all added and deleted training triples; returns the loss.

        Args:
            added: Added training triples, each paired with a negative.
            deleted: Deleted ones whose terms are active, each the negative of a pair.
            corrected: Samples the positives for the deleted ones.
            learning_rate: Step size.
        """
        if not self._train.shape[1]:
            return 0.0
        negative, possible = self._corrupted.draw(added)
        pairs_true = np.concatenate([corrected.draw(deleted), added[:, possible]], axis=1)
        pairs_false = np.concatenate([deleted, negative[:, possible]], axis=1)
        loss = self._steps.step(pairs_true, pairs_false, learning_rate)
        self._steps.bring_back()
        return loss

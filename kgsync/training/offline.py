"""Training from scratch (alg. TDSM_offline)."""

from __future__ import annotations

from kgsync.common.cost import Cost
from kgsync.models import model_class
from kgsync.models.base import Model
from kgsync.training.backends import trainer_for
from kgsync.training.problem import Problem
from kgsync.training.progress import (
    BestState,
    Observe,
    Plateau,
    Progress,
    TrainingRun,
    no_observer,
    no_progress,
)

__all__ = ["train_offline"]


def train_offline(
    problem: Problem,
    cost: Cost,
    progress: Progress = no_progress,
    observe: Observe = no_observer,
) -> tuple[Model, TrainingRun]:
    """Train a new model on one version.

    Args:
        problem: The version.
        cost: Counters to increase.
        progress: Told about every epoch.
        observe: Sees the model at every validation.

    Returns:
        The model in its best validated state, and what happened.
    """
    settings = problem.settings
    chosen = model_class(settings.model.name)
    sizes = len(problem.living.entities), len(problem.living.relations)
    model = chosen.random(settings.model, *sizes, problem.seeds.torch("start vectors"))
    random = problem.seeds.numpy("training")
    trainer = trainer_for(model, problem, random, cost)
    rate = settings.rates().training
    run = TrainingRun()
    plateau = Plateau()
    best = BestState(model, settings.training.patience, run, observe)
    every = settings.training.validate_every if len(problem.split.validation) else 0
    for epoch in range(1, settings.training.epochs + 1):
        run.final_loss = trainer.general_epoch(rate * plateau.scale)
        plateau.see(run.final_loss)
        run.epochs = epoch
        progress("training", epoch, settings.training.epochs)
        if every and epoch % every == 0 and best.see(epoch, problem.validate(model)):
            break
    best.restore()
    return model, run

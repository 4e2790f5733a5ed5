"""What every loss does. A new one needs a file `loss_<name>.py` beside this one.

The file computes the loss in plain Python: of a batch, and of the triples of a new element, each
with the scores of its negatives.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
import torch

from kgsync.common.kernels import FAST, Slot, kernel, link
from kgsync.config import ModelSettings
from kgsync.models import MODELS, losses
from kgsync.models.losses import LOSSES
from kgsync.models.losses.declaration import Loss
from kgsync.models.parts import loss_kernels
from kgsync.models.parts.kernels import Triple
from kgsync.models.parts.loss_kernels import Element, Negatives, add_evidence, of_element, slopes

SETTINGS = ModelSettings(margin=1.5)
every_loss = pytest.mark.parametrize("name", sorted(LOSSES))

Evidence = Sequence[tuple[float, Sequence[float]]]
"""The triples of an element: its own score, and those of its negatives."""
EVIDENCE: Evidence = [
    (0.25, (1.0, -2.0, 0.5)),
    (30.0, (-20.0, -40.0, -3.0)),
    (-1.0, (0.75,)),
    (-0.5, ()),  # no negative was possible
    (-25.0, (30.0, 2.0)),
]


@kernel()
def _score(tables: Any, triple: Any, _work: Any) -> Any:
    """The tail says which of some given scores."""
    return tables[triple.tail]


@kernel()
def _add_own(
    _tables: Any, triple: Any, weight: Any, _of: Any, _row: Any, sums: Any, _own: Any, _work: Any
) -> None:
    """The sums are the gradients by the scores."""
    sums[triple.tail] += weight


@kernel(FAST)
def _pair(margin: Any, right: Any, wrong: Any, share: Any) -> Any:
    return slopes(margin, right, wrong, share)


@kernel(FAST)
def _element(margin: Any, scores: Any, tails: Any, drawn: Any, sums: Any, work: Any) -> Any:
    total, count, own = 0.0, 0, Element(False, 0)
    for at in range(len(drawn)):
        negatives = Negatives(tails[at, 1:], tails[at, 1:])
        total, count = add_evidence(
            margin,
            scores,
            Triple(0, 0, tails[at, 0]),
            negatives,
            drawn[at],
            own,
            sums,
            sums,
            work,
            total,
            count,
        )
    return of_element(total, count)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Any]]:
    """Kernels that call the parts of a loss; not kept, as numba would not see that they change."""
    made: dict[str, list[Any]] = {}

    def of(name: str) -> list[Any]:
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("numba.config.CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
                parts = {**LOSSES[name].kernels, "score": _score, "add_own": _add_own}
                made[name] = link([_pair, _element], parts, f"probe_{name}")
        return made[name]

    return of


def loss_of(name: str) -> Loss:
    return LOSSES[name].create(SETTINGS)


def by_owner(name: str, evidence: Evidence) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The loss of one element by torch, and the scores, as leaves."""
    most = max(len(false) for _, false in evidence)
    padded = [[*false, *[0.0] * (most - len(false))] for _, false in evidence]
    positive = torch.tensor([score for score, _ in evidence], dtype=torch.float64)
    negative = torch.tensor(padded, dtype=torch.float64).T.contiguous()
    possible = torch.tensor([[at < len(false) for _, false in evidence] for at in range(most)])
    for scores in (positive, negative):
        scores.requires_grad_()
    owner = torch.zeros(len(evidence), dtype=torch.long)
    (loss,) = loss_of(name).by_owner(positive, negative, possible, owner, 1)
    return loss, positive, negative


def test_every_file_of_the_folder_is_a_loss_of_its_name() -> None:
    files = {file.name for file in iter_modules(losses.__path__)} - {"declaration"}
    assert files == set(LOSSES)
    cases = {path.stem.removeprefix("loss_") for path in Path(__file__).parent.glob("loss_*.py")}
    assert cases == files


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_names_a_loss(name: str) -> None:
    assert MODELS[name].loss in LOSSES


def test_finding_the_losses_loads_neither_torch_nor_numba() -> None:
    code = (
        "import sys\n"
        "from kgsync.models.losses import LOSSES\n"
        "assert len(LOSSES) >= 2\n"
        "heavy = {'torch', 'numba', 'llvmlite', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@every_loss
def test_it_fills_every_slot(name: str) -> None:
    slots = {each for each, value in vars(loss_kernels).items() if isinstance(value, Slot)}
    assert set(LOSSES[name].kernels) == slots


@every_loss
def test_a_batch_costs_what_plain_python_finds(name: str) -> None:
    true, false = torch.randn(2, 50, dtype=torch.float64, generator=torch.Generator()) * 3
    expected = import_module(f"tests.models.loss_{name}").of_batch(
        true.tolist(), false.tolist(), SETTINGS
    )
    assert loss_of(name).of_batch(true, false).item() == pytest.approx(expected, rel=1e-12)


@every_loss
def test_an_element_costs_what_plain_python_finds(name: str) -> None:
    expected = import_module(f"tests.models.loss_{name}").of_element(EVIDENCE, SETTINGS)
    assert by_owner(name, EVIDENCE)[0].item() == pytest.approx(expected, rel=1e-12)


@every_loss
def test_an_owner_pays_for_its_own_triples_only(name: str) -> None:
    random = torch.Generator().manual_seed(1)
    positive = torch.randn(6, dtype=torch.float64, generator=random)
    negative = torch.randn(3, 6, dtype=torch.float64, generator=random)
    possible = torch.rand(3, 6, generator=random) < 0.7
    owner = torch.tensor([0, 2, 0, 1, 2, 2])
    found = loss_of(name).by_owner(positive, negative, possible, owner, 3)
    for each in range(3):
        mine = owner == each
        (alone,) = loss_of(name).by_owner(
            positive[mine], negative[:, mine], possible[:, mine], owner[mine] * 0, 1
        )
        assert found[each].item() == pytest.approx(alone.item(), rel=1e-12)


@every_loss
def test_a_better_positive_and_a_worse_negative_never_cost_more(name: str) -> None:
    scores = torch.linspace(-40, 40, 101)
    costs = [loss_of(name).of_batch(score[None], -score[None]).item() for score in scores]
    assert costs == sorted(costs, reverse=True)
    assert np.isfinite(costs).all()
    assert costs[0] > 0


@every_loss
def test_the_slopes_of_the_kernels_are_those_of_torch(
    name: str, linked: Callable[[str], list[Any]]
) -> None:
    pair, _ = linked(name)
    random = np.random.default_rng(3)
    scores = np.concatenate([random.normal(0, 3, (2, 60)), [[-80, 80, 0], [80, -80, 0]]], axis=1)
    true, false = (torch.tensor(s, dtype=torch.float32).requires_grad_() for s in scores)
    loss = loss_of(name).of_batch(true, false)
    loss.backward()  # type: ignore[no-untyped-call]
    share = np.float32(0.5 / len(true))
    total, ups, downs = 0.0, [], []
    for right, wrong in zip(true.detach().numpy(), false.detach().numpy(), strict=True):
        cost, up, down = pair(np.float32(SETTINGS.margin), right, wrong, share)
        total += cost
        ups.append(up if cost else 0.0)
        downs.append(down if cost else 0.0)
    assert total == pytest.approx(loss.item(), rel=1e-5)
    assert true.grad is not None
    assert false.grad is not None
    np.testing.assert_allclose(ups, true.grad.numpy(), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(downs, false.grad.numpy(), rtol=1e-5, atol=1e-9)


@every_loss
def test_the_gradients_of_an_element_are_those_of_torch(
    name: str, linked: Callable[[str], list[Any]]
) -> None:
    _, element = linked(name)
    loss, positive, negative = by_owner(name, EVIDENCE)
    loss.backward()  # type: ignore[no-untyped-call]
    scores = np.concatenate([positive.detach().numpy()[None], negative.detach().numpy()])
    tails = np.arange(scores.size).reshape(scores.shape).T.copy()
    drawn = np.array([len(false) for _, false in EVIDENCE])
    sums, flat = np.zeros(scores.size, np.float32), scores.astype(np.float32).reshape(-1)
    work = np.empty((4, 1), np.float32)
    found, share = element(np.float32(SETTINGS.margin), flat, tails, drawn, sums, work)
    assert found == pytest.approx(loss.item(), rel=1e-6)
    assert positive.grad is not None
    assert negative.grad is not None
    expected = np.concatenate([positive.grad.numpy()[None], negative.grad.numpy()]).reshape(-1)
    np.testing.assert_allclose(sums * share, expected, rtol=1e-5, atol=1e-9)


@every_loss
def test_a_score_that_is_not_a_number_is_passed_on(
    name: str, linked: Callable[[str], list[Any]]
) -> None:
    pair, _ = linked(name)
    nan, one = np.float32(np.nan), np.float32(1)
    for right, wrong in ((nan, one), (one, nan)):
        assert np.isnan(pair(one, right, wrong, one)[0])

"""What every optimiser does. A new one needs a file `optimizer_<name>.py` beside this one.

The file creates the optimiser of torch that moves whole tables in the same way.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
import torch

from kgsync.common.kernels import FAST, Slot, kernel, link
from kgsync.models import MODELS, optimizers
from kgsync.models.optimizers import OPTIMIZERS
from kgsync.models.parts import optimizer_kernels
from kgsync.models.parts.optimizer_kernels import move, move_own

every_optimizer = pytest.mark.parametrize("name", sorted(OPTIMIZERS))
RATES = (0.1, 0.05, 0.05, 0.01)
WIDTH = 7


@kernel(FAST)
def _move(vector: Any, state: Any, gradient: Any, step: Any, weight: Any) -> Any:
    return move(vector, state, gradient, step, weight)


@kernel(FAST)
def _move_own(vector: Any, gradient: Any, state: Any, share: Any, rate: Any) -> None:
    move_own(vector, gradient, state, share, rate)


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Any]]:
    """Kernels that call the parts of an optimiser; not kept, as numba would not see them change."""
    made: dict[str, list[Any]] = {}

    def of(name: str) -> list[Any]:
        if name not in made:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("numba.config.CACHE_DIR", str(tmp_path_factory.mktemp("kernels")))
                made[name] = link([_move, _move_own], OPTIMIZERS[name].kernels, f"probe_{name}")
        return made[name]

    return of


def gradients() -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(4)
    return [torch.randn(WIDTH, generator=random) for _ in RATES]


def by_torch(name: str, start: torch.Tensor, penalty: float = 0.0) -> torch.Tensor:
    """The optimiser of torch, with the gradient of penalty · |vector|² added."""
    vector = start.clone().requires_grad_()
    optimizer = import_module(f"tests.models.optimizer_{name}").create([vector])
    for rate, gradient in zip(RATES, gradients(), strict=True):
        optimizer.param_groups[0]["lr"] = rate
        vector.grad = gradient + 2 * penalty * vector.detach()
        optimizer.step()
    return vector.detach()


def test_every_file_of_the_folder_is_an_optimiser_of_its_name() -> None:
    files = {file.name for file in iter_modules(optimizers.__path__)} - {"declaration"}
    assert files == set(OPTIMIZERS)
    found = Path(__file__).parent.glob("optimizer_*.py")
    assert {path.stem.removeprefix("optimizer_") for path in found} == files


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_names_an_optimiser_that_takes_its_penalty(name: str) -> None:
    declared = MODELS[name]
    assert OPTIMIZERS[declared.optimizer].takes_penalty or not declared.has_penalty


def test_finding_the_optimisers_loads_neither_torch_nor_numba() -> None:
    code = (
        "import sys\n"
        "from kgsync.models.optimizers import OPTIMIZERS\n"
        "assert len(OPTIMIZERS) >= 2\n"
        "heavy = {'torch', 'numba', 'llvmlite', 'pyarrow'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@every_optimizer
def test_it_fills_every_slot(name: str) -> None:
    slots = {each for each, value in vars(optimizer_kernels).items() if isinstance(value, Slot)}
    assert set(OPTIMIZERS[name].kernels) == slots


@every_optimizer
def test_the_torch_form_moves_rows_as_torch_does(name: str) -> None:
    declared, table = OPTIMIZERS[name], torch.linspace(-1, 1, 3 * WIDTH).reshape(3, WIDTH)
    state = torch.zeros_like(table) if declared.has_state else None
    start, rows = table.clone(), torch.tensor([1])
    for rate, gradient in zip(RATES, gradients(), strict=True):
        given = gradient[None].clone()
        table[rows] -= rate * declared.direction(state, rows, given)
        assert torch.equal(given[0], gradient)
    torch.testing.assert_close(table[1], by_torch(name, start[1]))
    assert torch.equal(table[[0, 2]], start[[0, 2]])


@every_optimizer
@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_the_kernel_moves_rows_as_torch_does(
    name: str, penalty: float, linked: Callable[[str], list[Any]]
) -> None:
    if penalty and not OPTIMIZERS[name].takes_penalty:
        pytest.skip("takes no penalty")
    start = torch.linspace(-1, 1, WIDTH)
    vector, state = start.numpy().copy(), np.zeros(WIDTH, np.float32)
    for rate, gradient in zip(RATES, gradients(), strict=True):
        before = float((vector**2).sum())
        found = linked(name)[0](
            vector, state, gradient.numpy(), np.float32(rate), np.float32(penalty)
        )
        assert found == pytest.approx(before if OPTIMIZERS[name].takes_penalty else 0.0)
    np.testing.assert_allclose(vector, by_torch(name, start, penalty).numpy(), rtol=1e-5, atol=1e-6)


@every_optimizer
def test_the_kernel_of_pretraining_moves_an_element_as_torch_does(
    name: str, linked: Callable[[str], list[Any]]
) -> None:
    start, share = torch.linspace(-1, 1, WIDTH), np.float32(0.25)
    vector, state = start.numpy().copy(), np.zeros(WIDTH, np.float32)
    for rate, gradient in zip(RATES, gradients(), strict=True):
        linked(name)[1](vector, gradient.numpy() / share, state, share, np.float32(rate))
    np.testing.assert_allclose(vector, by_torch(name, start).numpy(), rtol=1e-5, atol=1e-6)

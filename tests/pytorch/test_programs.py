"""Whole programs in PyTorch's spelling have the same losses with PyTorch and here, eager and compiled."""

import warnings

import numpy as np
import pytest
from programs import PROGRAMS

import retrograde.torch as ours

by_program = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)


def run(torch, program, weights=None, compiled=False):
    """What the steps return, the weights at first, and the model."""
    torch.manual_seed(0)
    model, step, batches = program(torch)
    first = {name: np.array(x.detach().numpy()) for name, x in model.state_dict().items()}
    if weights is not None:
        model.load_state_dict({name: torch.from_numpy(np.array(x)) for name, x in weights.items()})
    step = torch.compile(step, fullgraph=True) if compiled else step
    return [[x.item() for x in step(*batch)] for batch in batches], first, model


@by_program
def test_losses_are_those_of_pytorch(program):
    theirs = pytest.importorskip("torch", reason="compares with PyTorch: the extra oracle")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, weights, _ = run(theirs, program)
    for compiled in (False, True):
        found, first, _ = run(ours, program, weights, compiled)
        assert list(first) == list(weights)
        np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)


@by_program
def test_compiled_steps_do_what_eager_ones_do_and_all_is_of_one_kind(program):
    eager, weights, _ = run(ours, program)
    compiled, _, model = run(ours, program, weights, compiled=True)
    np.testing.assert_allclose(compiled, eager, 1e-5, 1e-5)
    for p in model.parameters():
        assert type(p) is ours.nn.Parameter and type(p.grad) is ours.Tensor
    assert all(type(b) is ours.Tensor for b in model.buffers())
    assert all(isinstance(m, ours.nn.Module) for m in model.modules())

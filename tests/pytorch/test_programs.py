"""Whole programs in PyTorch's spelling have the same losses with PyTorch and here, eager and compiled."""

import warnings

import numpy as np
import pytest
from programs import PROGRAMS
from programs_of_images import PROGRAMS as OF_IMAGES
from programs_of_sequences import PROGRAMS as OF_SEQUENCES

import retrograde.torch as ours

by_program = pytest.mark.parametrize("program", [*PROGRAMS, *OF_IMAGES, *OF_SEQUENCES], ids=lambda program: program.__name__)


def run(torch, program, weights=None, compiled=False):
    """What the steps return, the weights at first, and the model."""
    torch.manual_seed(0)
    model, step, batches = program(torch)
    first = {name: np.array(x.detach().numpy()) for name, x in model.state_dict().items()}
    if weights is not None:
        model.load_state_dict({name: torch.from_numpy(np.array(x)) for name, x in weights.items()})
    after = getattr(step, "after", lambda: None)
    step = torch.compile(step, fullgraph=not getattr(step, "is_eager", False)) if compiled else step
    losses = []
    for batch in batches:
        with np.errstate(divide="ignore"):  # the logarithm of 0 in masks, of which NumPy tells
            losses.append([x.item() for x in step(*batch)])
        after()
    return losses, first, model


def compiled_run(program, weights):
    """As `run` of a compiled step; where a step says that it cannot be compiled, it tells so once and runs as it is."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = run(ours, program, weights, compiled=True)
    is_eager = getattr(program(ours)[1], "is_eager", False)
    assert [w.category for w in told] == [ours.CompileWarning] * is_eager, told and str(told[0].message)
    return found


@by_program
def test_losses_are_those_of_pytorch(program):
    theirs = pytest.importorskip("torch", reason="compares with PyTorch: the extra oracle")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, weights, _ = run(theirs, program)
    found, first, _ = run(ours, program, weights)
    assert list(first) == list(weights)
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)
    np.testing.assert_allclose(compiled_run(program, weights)[0], wanted, 1e-5, 1e-5)


@by_program
def test_compiled_steps_do_what_eager_ones_do_and_all_is_of_one_kind(program):
    eager, weights, _ = run(ours, program)
    compiled, _, model = compiled_run(program, weights)
    np.testing.assert_allclose(compiled, eager, 1e-5, 1e-5)
    for p in model.parameters():
        assert type(p) is ours.nn.Parameter and (not p.requires_grad or p.grad is None or type(p.grad) is ours.Tensor)
    assert all(type(b) is ours.Tensor for b in model.buffers())
    assert all(isinstance(m, ours.nn.Module) for m in model.modules())

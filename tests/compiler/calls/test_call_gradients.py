"""Gradients that a compiled function finds: where they lie in memory that it writes, it does at each call what eager code does."""

import numpy as np
import pytest

import retrograde as rg


def made():
    """Two parameters with gradients, in memory of their own."""
    parameters = [rg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True), rg.tensor([10.0, 20.0, 30.0, 40.0], requires_grad=True)]
    for parameter in parameters:
        parameter.grad = rg.tensor([0.5, 0.25, 0.125, 1.0])
    return parameters


def descend(parameters):
    """One after the other is updated by its gradient, of which the first number then changes."""
    with rg.no_grad():
        for parameter in parameters:
            parameter[...] = parameter - 0.5 * parameter.grad
        for parameter in parameters:
            parameter.grad[...] = parameter.grad * 2.0
    return parameters[0].sum() + parameters[1].sum()


def _of_the_other(parameters):
    parameters[1].grad = rg.tensor(np.zeros(4))
    parameters[1].grad.data = parameters[0].data


def _backwards(parameters):
    parameters[1].grad = rg.tensor(np.zeros(4))
    parameters[1].grad.data = parameters[0].data[::-1]


def _of_each_other(parameters):
    parameters[1].grad = rg.tensor(np.zeros(4))
    parameters[1].grad.data = parameters[0].grad.data


def _the_same(parameters):
    parameters[1].grad = parameters[0].grad


def _own(parameters):
    parameters[0].grad = rg.tensor(np.zeros(4))
    parameters[0].grad.data = parameters[0].data


def _none(parameters):
    for parameter in parameters:
        parameter.grad = rg.tensor([3.0, 2.0, 1.0, 0.0])


@pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")
@pytest.mark.parametrize("spoil", [_none, _of_the_other, _backwards, _of_each_other, _the_same, _own], ids=lambda f: f.__name__)
@pytest.mark.parametrize("is_first", [False, True])
def test_gradients_that_lie_in_memory_that_is_written(spoil, is_first):
    eager, compiled = made(), made()
    step = rg.jit(lambda: descend(compiled))
    for turn in range(4):
        if turn == (0 if is_first else 2):
            spoil(eager)
            spoil(compiled)
        wanted, found = descend(eager), step()
        assert found.item() == wanted.item()
        for a, b in zip(eager, compiled, strict=True):
            np.testing.assert_array_equal(b.data, a.data)
            np.testing.assert_array_equal(b.grad.data, a.grad.data)

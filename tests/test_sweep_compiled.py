"""The sweep over compiled code: derivatives of the second order of every op, compiled, are the eager ones."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.value import Value
from retrograde.dtypes import is_float
from sweeping import cases, results

NAMES = [name for name in rg.ops.names() if (op := rg.ops.get(name)).is_differentiable and op.family != "creation"]


def weighted(found):
    """One real number that depends on every float of what an op returned, unevenly and not only linearly."""
    total = 0.0
    for z in found:
        if isinstance(z, Value) and is_float(z.dtype) and z.size:
            parts = (z.real, z.imag) if z.dtype.kind == "c" else (z,)
            total = total + sum((p * p * np.linspace(0.5, 1.0, z.size).reshape(z.shape)).sum() for p in parts)
    return total


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_compiled_derivatives_of_the_second_order_are_the_eager_ones(name):
    op = rg.ops.get(name)
    case = next((c for c in cases(op) if any(x.size for x in c.operands(c.drawn(np.float64)[0])) and "dtype" not in c.words.kwargs), None)
    if case is None:
        pytest.skip("no float operand")
    args, kwargs = case.drawn(np.float64)
    operands = case.operands(args)
    if any(x.dtype.kind == "c" for x in operands):
        pytest.skip("gradients of complex operands are not real numbers")
    places = tuple(range(len(operands)))

    def function(*operands):
        return weighted(results(op.call(*case.rebuilt(args, operands), **kwargs)))

    def slope(*operands):
        return weighted(rg.grad(function, places)(*operands))

    second = rg.grad(slope, places)
    for a, b in zip(rg.jit(second)(*operands), second(*operands), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-7, atol=1e-8 * (1 + np.abs(np.asarray(b)).max(initial=0)))

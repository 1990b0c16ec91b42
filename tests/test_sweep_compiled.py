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


ELEMENTWISE = [name for name in rg.ops.names() if (op := rg.ops.get(name)).broadcasts and op.operands and op.family != "creation"]
#: Numbers that an operand may be, of which those of Python do not promote.
NUMBERS = (2.5, True, np.float64(0.75), np.array(2))


def derivatives(op, args):
    """The function of the arrays among `args` that gives what `op` gives, its change, and of its float arrays the derivatives of both
    orders; with those arrays, and the dtypes that derivatives must have.
    """
    arrays = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.shape]
    floats = tuple(place for place, i in enumerate(arrays) if is_float(args[i].dtype))

    def found(*operands):
        given = dict(zip(arrays, operands, strict=True))
        return op.call(*[given.get(i, a) for i, a in enumerate(args)])

    def total(*operands):
        return sum((z.real * z.real).sum() for z in results(found(*operands)) if is_float(z.dtype))

    def slope(*operands):
        return sum((part * part).sum() for part in rg.grad(total, floats)(*operands))

    def everything(*operands):
        value = found(*map(rg.asarray, operands))
        if not floats or not op.is_differentiable or not any(is_float(z.dtype) for z in results(value)):
            return {"value": value}
        _, change = rg.jvp(found, operands, tuple(map(np.ones_like, operands)))
        return {"value": value, "change": change, "first": rg.grad(total, floats)(*operands), "second": rg.grad(slope, floats)(*operands)}

    operands = [args[i] for i in arrays]
    return everything, operands, [operands[place].dtype for place in floats]


@pytest.mark.sampled(3)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_numbers_beside_arrays_promote_in_compiled_code_and_its_derivatives_as_in_eager_ops(name, monkeypatch):
    monkeypatch.setenv("RETROGRADE_COMPILER", "reference")
    op, dtypes = rg.ops.get(name), lambda found: rg.tree.map(lambda z: z.dtype, found)
    places = [None] if len(op.operands) == 1 else [(i, number) for i in range(len(op.operands)) for number in NUMBERS]
    for dtype in ("float32", "int32"):
        array = np.array([0.4, 0.6] if dtype.startswith("float") else [1, 2]).astype(dtype)
        for place in places:
            args = [array if place is None or i != place[0] else place[1] for i in range(len(op.operands))]
            everything, operands, expected = derivatives(op, args)
            try:
                eager = dtypes(everything(*operands))
            except (rg.errors.RetrogradeError, TypeError):  # of an op that takes no such numbers, or needs more
                continue
            assert dtypes(rg.jit(everything)(*operands)) == eager, (dtype, place)
            for order in ("first", "second"):
                assert list(eager.get(order, expected)) == expected, (dtype, place, order)

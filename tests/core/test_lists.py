"""Lists of numbers beside tensors are what arrays of them would be: eagerly, in traces, and on the way back."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ShapeError
from retrograde.nn import functional

LABELS = [1, 3]
CALLS = {
    "compared": (lambda x, y: x == y, LABELS),
    "chosen from": (lambda x, y: rg.where(x > 1, y, 0.0), [5.0, 6.0]),
    "added": (lambda x, y: x + y, LABELS),
    "subtracted from": (lambda x, y: y - x, (1, 3)),
    "nested": (lambda x, y: x + y, [[1], [3]]),
    "multiplied as a vector": (lambda x, y: x @ y, [1.0, 3.0]),
    "joined": (lambda x, y: rg.concat([x, y]), [1.0, 3.0]),
    "summed over": (lambda x, y: rg.einsum("i,i->", x, y), [1.0, 3.0]),
    "bounds": (lambda x, y: rg.clip(x, y, 5), [0, 3]),
    "targets": (lambda x, y: functional.mse_loss(x, y), [1.0, 3.0]),
}
X = np.array([0.5, 2.0], np.float32)


@pytest.mark.parametrize("mode", ["eager", "jit"])
@pytest.mark.parametrize("name", CALLS)
def test_a_list_is_what_an_array_of_it_is(name, mode):
    call, numbers = CALLS[name]
    wrap = rg.jit if mode == "jit" else lambda function: function
    found, expected = wrap(lambda x: call(x, numbers))(rg.tensor(X)), call(rg.tensor(X), np.asarray(numbers))
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("mode", ["eager", "jit"])
@pytest.mark.parametrize("name", [name for name in CALLS if name != "compared"])
def test_derivatives_beside_a_list_are_those_beside_an_array(name, mode):
    call, numbers = CALLS[name]
    wrap = rg.jit if mode == "jit" else lambda function: function
    found = wrap(rg.grad(lambda x: call(x, numbers).sum()))(X)
    np.testing.assert_allclose(found, rg.grad(lambda x: call(x, np.asarray(numbers)).sum())(X), rtol=1e-6)


@pytest.mark.parametrize("mode", ["eager", "jit"])
@pytest.mark.parametrize("join", [rg.concat, rg.stack, lambda rows: rg.einsum("i,i->i", *rows)], ids=["concat", "stack", "einsum"])
def test_a_number_with_a_history_in_a_list_among_many_operands_keeps_it(join, mode):
    wrap = rg.jit if mode == "jit" else lambda function: function
    found = wrap(rg.grad(lambda a: rg.square(join([[a, 2.0], [3.0, a * a]])).sum()))(1.5)
    a = rg.tensor(1.5, requires_grad=True)
    rows = [rg.stack([a, rg.tensor(2.0)]), rg.stack([rg.tensor(3.0), a * a])]
    rg.square(join(rows)).sum().backward()
    np.testing.assert_allclose(found, a.grad, rtol=1e-6)


def test_a_lazy_tensor_is_compared_with_a_list():
    with rg.lazy():
        found = rg.tensor([1.0, 2.0]) == LABELS
    assert found.tolist() == [True, False]


def test_a_list_of_unequal_rows_is_refused_in_a_trace():
    with pytest.raises(ShapeError, match="inhomogeneous"):
        rg.jit(lambda x: rg.add(x, [1, [2]]))(X)

"""The seam to other libraries is real: arrays of dask, which NumPy's functions dispatch to, go through the ops and back."""

import numpy as np
import pytest

import retrograde as rg

dask = pytest.importorskip("dask.array")

X = np.linspace(0.2, 1.4, 6).reshape(2, 3)


def lazy(array):
    return dask.from_array(array, chunks=(1, 3) if array.ndim == 2 else -1)


PROGRAMS = {
    "elementwise": lambda x: (rg.sin(x) * x + rg.exp(x) / (1 + x)).sum(),
    "broadcast": lambda x: (x * x[0] + x.mean(axis=1, keepdims=True)).sum(),
    "matmul": lambda x: rg.tanh(x @ x.T).sum(),
    "movement": lambda x: (x.reshape(6) * 2).sum() + (x.T[1:] + rg.flip(x, 1).T[:2]).sum(),
    "reductions": lambda x: rg.max(x, axis=0).sum() + rg.mean(x) * rg.sum(x, axis=(0, 1)),
    "softmax": lambda x: (rg.softmax(x, axis=-1) * x).sum() + rg.logsumexp(x),
    "where": lambda x: rg.where(x > 0.7, x * x, x).sum() + rg.maximum(x, 0.5).sum() + rg.relu(x).sum(),
    "joins": lambda x: (rg.concatenate([x, x * 2], axis=0)[1:3] ** 2).sum(),
    "power": lambda x: (x**2.5 + 2**x).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_on_dask_arrays_has_the_values_and_gradients_of_numpy(name):
    program = PROGRAMS[name]
    x, y = rg.tensor(X, requires_grad=True), rg.Tensor(lazy(X)).requires_grad_()
    here, there = program(x), program(y)
    assert type(there.data) is dask.Array, "computed before it was asked for"
    np.testing.assert_allclose(np.asarray(there.data), here.data, rtol=1e-12)
    here.backward()
    there.backward()
    np.testing.assert_allclose(np.asarray(y.grad.data), x.grad.data, rtol=1e-12)


def test_gradients_of_gradients_go_through_too():
    y = rg.Tensor(lazy(X)).requires_grad_()
    (rg.sin(y) * y).sum().backward(create_graph=True)
    first = y.grad
    y.grad = None
    first.sum().backward()
    np.testing.assert_allclose(np.asarray(y.grad.data), 2 * np.cos(X) - X * np.sin(X), rtol=1e-12)


def test_plain_dask_arrays_stay_plain():
    assert type(rg.sin(lazy(X))) is dask.Array
    assert type(rg.add(lazy(X), 1.0)) is dask.Array

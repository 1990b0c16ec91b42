"""Sparse tensors give what dense ones give, with gradients, eager and compiled; what they do not do is an error of ours."""

import numpy as np
import pytest
from sparse_calls import CALLS, inputs

from retrograde import torch
from retrograde.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError

PLACES = [[0, 2, 1, 0, 2], [1, 3, 0, 1, 0]]
OF_DENSE = ["x @ d", "x @ v", "e @ x", "x + x", "m + x", "x - x * 3", "x / 2", "-x", "x.t()", "x.transpose(1, 0) @ e.t()", "x.sum()", "x.sum(0)",
            "x.sum(1)", "x.sin()", "x.relu()", "x ** 2", "x.t() @ x", "x * m", "x.double()", "torch.addmm(f, x, d)", "torch.mm(x, d)"]


def _dense(x):
    return x.to_dense()


def _both(call, values):
    given = inputs(torch)
    sparse = torch.sparse_coo_tensor(PLACES, values, (3, 4))
    found = _dense(eval(call, {**given, "x": sparse}))
    (slope,) = torch.autograd.grad((found * found).sum(), values)
    return found, slope


@pytest.mark.parametrize("call", OF_DENSE)
def test_a_call_gives_what_it_gives_of_the_dense_tensor(call):
    values = torch.tensor([1.0, -2.0, 3.0, 0.5, 4.0], requires_grad=True)
    found, slope = _both(call, values)
    dense = torch.zeros(3, 4).index_put(tuple(torch.tensor(PLACES)), values, accumulate=True)
    wanted = eval(call, {**inputs(torch), "x": dense})
    (expected,) = torch.autograd.grad((wanted * wanted).sum(), values)
    assert type(found) is torch.Tensor and found.dtype == wanted.dtype
    np.testing.assert_allclose(found.detach().numpy(), wanted.detach().numpy(), 1e-5, 1e-6)
    np.testing.assert_allclose(slope.numpy(), expected.numpy(), 1e-4, 1e-5)


def test_a_step_on_a_graph_compiles_with_a_sparse_argument():
    values = torch.tensor([1.0, -2.0, 3.0, 0.5, 4.0], requires_grad=True)
    graph, d = torch.sparse_coo_tensor(PLACES, values, (3, 4)), inputs(torch)["d"]

    def step(graph, d):
        y = torch.spmm(graph, d)
        return (y * y).sum(), graph.t() * 2

    loss, turned = torch.compile(step, fullgraph=True)(graph, d)
    wanted, expected = step(graph, d)
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-6) and turned.shape == (4, 3)
    np.testing.assert_allclose(turned.to_dense().detach().numpy(), expected.to_dense().detach().numpy())
    for found, right in zip(torch.autograd.grad(loss, [values, d]), torch.autograd.grad(wanted, [values, d]), strict=True):
        np.testing.assert_allclose(found.numpy(), right.numpy(), 1e-5)


def test_a_leaf_has_its_gradient_where_its_values_are():
    x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3), requires_grad=True)
    (x @ torch.ones(3, 1)).sum().backward()
    assert x.is_leaf and x.grad.to_dense().tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(("make", "error", "said"), [
    (lambda x: x.values(), ArgumentError, "coalesce"),
    (lambda x: torch.exp(x), DTypeError, "sparse tensor.*to_dense"),
    (lambda x: torch.ones(3, 4).add(x), DTypeError, "sparse tensor.*to_dense"),
    (lambda x: torch.ones(2, 3).mm(x), DTypeError, "to_dense"),
    (lambda x: np.asarray(x), DTypeError, "to_dense"),
    (lambda x: x + 1, DTypeError, "no zeros"),
    (lambda x: x @ torch.ones(3), ShapeError, r"\(3, 4\) and \(3,\)"),
    (lambda x: x @ torch.ones(4, dtype=torch.float64), DTypeError, "one dtype"),
    (lambda x: x @ x, ShapeError, "matmul"),
    (lambda x: x * torch.ones(4), ShapeError, "one shape"),
    (lambda x: x.crow_indices(), ArgumentError, "to_sparse_csr"),
    (lambda x: x.cosh(), AttributeError, "cosh"),
    (lambda x: x ** -1, ArgumentError, "above 0"),
    (lambda x: torch.sparse_coo_tensor([[3], [0]], [1.0], (3, 4)), OutOfRangeError, "between 0 and 2"),
    (lambda x: torch.sparse_coo_tensor([[-1], [0]], [1.0], (3, 4)), OutOfRangeError, "got -1"),
    (lambda x: torch.sparse_coo_tensor([[1], [0]], [1.0, 2.0], (3, 4)), ShapeError, "indices must have shape"),
    (lambda x: torch.sparse_csr_tensor([0, 2, 1], [0], [1.0], (2, 2)), ArgumentError, "go up"),
    (lambda x: torch.sparse_csr_tensor([0, 2], [1, 1], [1.0, 2.0], (1, 2)), ArgumentError, "none twice"),
    (lambda x: torch.sparse.spdiags, AttributeError, "spdiags"),
])
def test_what_is_not_there_is_an_error(make, error, said):
    with pytest.raises(error, match=said):
        make(torch.sparse_coo_tensor(PLACES, torch.ones(5), (3, 4)))


def test_the_calls_compared_with_pytorch_run():
    for call in CALLS[::6]:
        eval(call, inputs(torch))

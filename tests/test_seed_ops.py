"""Every op of the systems that retrograde unites, one case a row: S is SADL, C is ClumsyGrad, T is tinygrad, M is minima.

Their edge cases stand in test_seed_edges.py, their defects in test_seed_defects.py.
"""

import copy
import math

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import RegistryError, ShapeError
from retrograde.testing import check_gradients

RNG = np.random.default_rng(0)
DTYPES = (np.float32, np.float64)
_CASES = {}


def case(*names):
    """Register a function of a dtype as the case of each of `names`."""

    def register(function):
        for name in names:
            assert name not in _CASES, name
            _CASES[name] = function
        return function

    return register


def numbers(*shape):
    """Numbers from 0.5 to 2, no two of which are close."""
    size = math.prod(shape)
    return (RNG.permutation(np.linspace(0.5, 2.0, size)) + RNG.uniform(0, 0.01)).reshape(shape)


def leaf(values, dtype=np.float64):
    return rg.tensor(np.asarray(values, dtype), requires_grad=True)


def slope(function, *args, dtype=np.float64):
    """The gradient of the sum of `function`, weighted unevenly, in its first argument."""
    x = leaf(args[0], dtype)
    out = function(x, *args[1:])
    weights = np.linspace(1.0, 2.0, out.size).reshape(out.shape).astype(out.dtype)
    out.backward(weights)
    assert x.grad.dtype == x.dtype
    assert x.grad.shape == x.shape
    return x.grad.numpy()


def agrees(function, *shapes, order=2):
    """Values keep float32, and derivatives agree with finite differences."""
    arrays = [numbers(*s) if isinstance(s, tuple) else s for s in shapes]
    narrow = function(*[rg.asarray(a.astype(np.float32)) for a in arrays])
    assert narrow.dtype == np.float32
    check_gradients(function, arrays, order=order)


# The ops. One row of the table each; several spellings of one op are one function.

ROWS = {
    "add | C add_scalar add_broadcast, T Add, M EWiseAdd AddScalar": [
        (rg.add, (2, 3), (2, 3)), (rg.add, (2, 3), (3,)), (lambda x: x + 2.0, (2, 3)), (lambda x: 2 + x, ())],
    "subtract | sub, C sub_scalar sub_broadcast, T Sub": [
        (rg.sub, (2, 3), (1, 3)), (lambda x: 1 - x, (3,)), (lambda x: x - 1, (3,))],
    "multiply | mul, C mul_scalar, T Mul, M EWiseMul MulScalar": [
        (rg.mul, (2, 3), (2, 1)), (lambda x: 3 * x, (3,)), (lambda x: x * np.float64(3).item(), (3,))],
    "divide | div true_divide, T Div, M EWiseDiv DivScalar": [
        (rg.div, (2, 3), (3,)), (rg.true_divide, (3,), ()), (lambda x: 1 / x, (3,)), (lambda x: x / 3, (3,))],
    "negative | neg negate": [(rg.neg, (2, 3)), (rg.negate, (3,)), (lambda x: -x, ())],
    "abs | absolute": [(rg.absolute, (2, 3)), (lambda x: abs(-x), (3,))],
    "power | pow, M PowerScalar": [(rg.pow, (2, 3), (2, 3)), (lambda x: x**3, (3,)), (lambda x: 2.0**x, (3,)), (lambda x: x**0.5, ())],
    "square": [(rg.square, (2, 3))],
    "sqrt": [(rg.sqrt, (2, 3))],
    "exp, log | ln, exp2, log2": [(rg.exp, (3,)), (rg.log, (3,)), (rg.ln, (3,)), (rg.exp2, (3,)), (rg.log2, (3,))],
    "sin, cos, tan": [(rg.sin, (2, 3)), (rg.cos, (2, 3)), (lambda x: rg.tan(x / 2), (2, 3))],
    "tanh, sigmoid, relu": [(rg.tanh, (2, 3)), (rg.sigmoid, (2, 3)), (rg.relu, (2, 3))],
    "softmax (axis), logsumexp (axes)": [
        (rg.softmax, (2, 3)), (lambda x: rg.softmax(x, axis=0), (2, 3)), (rg.logsumexp, (2, 3)),
        (lambda x: rg.logsumexp(x, axis=(0, -1)), (2, 3, 2)), (lambda x: rg.logsumexp(x, -2), (2, 3))],
    "where | S where= of ufuncs, T Where": [(lambda x, y: rg.where(x > y, x, y), (2, 3), (3,))],
    "maximum, minimum": [(lambda x, y: rg.maximum(x, y + 0.1), (2, 3), (3,)), (lambda x, y: rg.minimum(x, y + 0.1), (2, 3), (1, 3)), (lambda x: np.maximum(x, 1.0), (3,))],
    "sum, mean | T Sum, M Summation": [
        (f, (2, 3, 2), options) for f in (rg.sum, rg.mean) for options in (
            {}, {"axis": 0}, {"axis": (-1, -2)}, {"axis": (0, 2), "keepdims": True}, {"axis": ()}, {"axis": np.int64(1)},
            {"where": np.array([[True], [False], [True]])})],
    "max, min | T Max": [
        (f, (2, 3, 2), options) for f in (rg.max, rg.min) for options in ({}, {"axis": -1}, {"axis": (0, 2), "keepdims": True})],
    "matmul": [(rg.matmul, (2, 3), (3, 4)), (rg.matmul, (3,), (3,)), (rg.matmul, (2, 3), (3,)), (rg.matmul, (3,), (3, 2)),
               (rg.matmul, (5, 2, 3), (3, 4)), (rg.matmul, (2, 1, 2, 3), (4, 3, 2))],
    "transpose, permute | permute_dims, .T, .mT": [
        (rg.transpose, (2, 3, 4)), (lambda x: rg.transpose(x, 0, 2), (2, 3, 4)), (lambda x: rg.permute(x, (2, 0, 1)), (2, 3, 4)),
        (lambda x: x.T, (2, 3)), (lambda x: x.mT, (2, 3, 4))],
    "reshape, broadcast_to | expand, flip, pad, shrink, expand_dims, squeeze": [
        (lambda x: rg.reshape(x, (3, -1)), (2, 3)), (lambda x: rg.expand(x, (4, 2, 3)), (2, 1)), (lambda x: rg.flip(x, 0), (2, 3)),
        (lambda x: rg.pad(x, ((1, 0), (0, 2))), (2, 3)), (lambda x: rg.shrink(x, ((0, 1), (1, 3))), (2, 3)),
        (lambda x: rg.expand_dims(x, 1), (2, 3)), (lambda x: rg.squeeze(x, 1), (2, 1, 3))],
    "contiguous, contiguous_backward": [(lambda x: rg.contiguous(x.T), (2, 3)), (lambda x: rg.contiguous_backward(x), (2, 3))],
    "mse_loss, mae_loss | l1_loss": [
        (lambda x, y, r=r, f=f: f(x, y + 3, reduction=r), (2, 3), (2, 3))
        for f in (rg.mse_loss, rg.mae_loss) for r in ("mean", "sum", "none")],
    "beside them: concatenate stack clip cumsum prod swapaxes outer einsum norm": [
        (lambda x, y: rg.concatenate([x, y], axis=1), (2, 3), (2, 1)), (lambda x, y: rg.stack([x, y], -1), (2, 3), (2, 3)),
        (lambda x: rg.clip(x, 0.8, 1.7), (2, 3)), (lambda x: rg.cumsum(x, 1), (2, 3)), (lambda x: rg.prod(x, 0), (2, 3)),
        (lambda x: rg.swapaxes(x, 0, 1), (2, 3)), (rg.outer, (2,), (3,)), (lambda x, y: rg.einsum("ij,jk->ki", x, y), (2, 3), (3, 2)),
        (lambda x: rg.norm(x, axis=1), (2, 3))],
}


@pytest.mark.parametrize("row", ROWS)
def test_row_of_the_table_of_ops(row):
    for function, *shapes in ROWS[row]:
        options = shapes.pop() if isinstance(shapes[-1], dict) else {}
        agrees(lambda *a, f=function, o=options: f(*a, **o), *shapes)


@case("less and the other comparisons")
def _(dtype):
    x, y = leaf([1, 2, 3], dtype), leaf([3, 2, 1], dtype)
    for op in (rg.less, rg.less_equal, rg.greater, rg.greater_equal, rg.equal, rg.not_equal):
        found = op(x, y)
        assert found.dtype == bool
        assert not found.requires_grad
    assert (x < y).tolist() == [True, False, False]


@case("cast | astype, bitcast")
def _(dtype):
    np.testing.assert_array_equal(slope(lambda x: x.astype(rg.float32) * 2, [1.0, 2.0], dtype=dtype), [2.0, 4.0])
    x = leaf([1.0, 2.0], dtype)
    assert not rg.cast(x, rg.int32).requires_grad
    bits = rg.bitcast(x, rg.int32 if dtype == np.float32 else rg.int64)
    assert not bits.requires_grad
    np.testing.assert_array_equal(rg.bitcast(bits, dtype).numpy(), x.detach().numpy())


@case("zeros_like | zero, const, creation, detach, no_grad")
def _(dtype):
    x = leaf([[1.0, 2.0]], dtype)
    assert rg.zeros_like(x).dtype == dtype
    made = (rg.zeros(2), rg.ones(2), rg.full((2,), 3.0), rg.arange(2), rg.eye(2), rg.tensor([1.0]), rg.randn(2), rg.uniform(size=(2,)))
    assert all(isinstance(t, rg.Tensor) and not t.requires_grad for t in made)
    assert rg.tensor([1.0]).dtype == rg.float32
    assert not x.detach().requires_grad
    with rg.no_grad():
        assert not (x * 2).requires_grad


@case("copy_to_device | .to(device)")
def _(dtype):
    np.testing.assert_array_equal(slope(lambda x: x.to("cpu") * 3, [1.0, 2.0], dtype=dtype), [3.0, 6.0])
    with pytest.raises(rg.errors.DeviceError, match=r"retrograde\[cuda\]|does not exist|cannot be used"):
        rg.tensor([1.0]).to("cuda:7")


# The registry.


@case("registry: name, family, arity, aliases, unknown names, double names, reasons")
def _(_dtype):
    op = rg.ops.get("absolute")
    assert (op.name, op.family, op.arity) == ("abs", "elementwise", 1)
    assert "sin" in rg.ops.names("elementwise")
    with pytest.raises(RegistryError, match="sqrt"):
        rg.ops.get("sqrtt")
    with pytest.raises(RegistryError, match="already"):
        rg.ops.elementwise()(lambda x, /: x).__class__  # noqa: B018 - a lambda is called "<lambda>", so this registers once
        rg.ops.elementwise(aliases=("sin",))(_named("cosine", lambda x, /: x))
    rg.ops.unregister("<lambda>")
    with pytest.raises(ValueError, match="reason"):
        rg.ops.elementwise(skips={"values": ""})(_named("silent", lambda x, /: x))


def _named(name, function):
    function.__name__ = name
    return function


@case("only the gradients that are needed are computed")
def _(dtype):
    calls = []

    @rg.ops.elementwise()
    def counted(x, y, /):
        """`x` plus `y`, counting its rules."""
        return x + y

    counted.defvjp(lambda g: calls.append("x") or g, lambda g: calls.append("y") or g)
    try:
        counted(leaf(1.0, dtype), rg.tensor(2.0)).backward()
    finally:
        rg.ops.unregister("counted")
    assert calls == ["x"]


NUMPY = {
    "tanh": lambda x: np.tanh(x), "where": lambda x: np.where(x > 1, x, 0 * x), "clip": lambda x: np.clip(x, 0.8, 1.5),
    "concatenate": lambda x: np.concatenate([x, x]), "stack": lambda x: np.stack([x, x]), "cumsum": lambda x: np.cumsum(x, axis=1),
    "prod": lambda x: np.prod(x, axis=0), "einsum": lambda x: np.einsum("ij,kj->ik", x, x), "sort": lambda x: np.sort(x, axis=1),
    "pad": lambda x: np.pad(x, 1), "take": lambda x: np.take(x, [0, 0, 1], axis=1), "outer": lambda x: np.outer(x, x),
    "norm": lambda x: np.linalg.norm(x), "transpose": lambda x: np.transpose(x), "matmul": lambda x: np.matmul(x, x.T),
    "dot": lambda x: np.dot(x, x.T), "exp": lambda x: np.exp(x), "power": lambda x: np.power(x, 3), "abs": lambda x: np.abs(x),
    "reshape": lambda x: np.reshape(x, (3, 2)), "expand_dims": lambda x: np.expand_dims(x, 0), "squeeze": lambda x: np.squeeze(x[:1]),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1), "max": lambda x: np.max(x, axis=1), "mean": lambda x: np.mean(x, axis=0),
    "var": lambda x: np.var(x), "flip": lambda x: np.flip(x, 0), "add.reduce": lambda x: np.add.reduce(x, axis=1),
    "add.accumulate": lambda x: np.add.accumulate(x, axis=1), "logaddexp": lambda x: np.logaddexp(x, 2 * x), "arctan": lambda x: np.arctan(x),
    "tile": lambda x: np.tile(x, (2, 1)), "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 3)), "moveaxis": lambda x: np.moveaxis(x, 0, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", NUMPY)
def test_functions_of_numpy_that_had_no_derivative(name):
    """S: some 30 NumPy functions with no derivative."""
    assert isinstance(NUMPY[name](rg.tensor(np.ones((2, 3)))), rg.Tensor)
    check_gradients(NUMPY[name], [RNG.permutation(np.linspace(0.6, 1.9, 6)).reshape(2, 3)], order=1)


@pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])
@pytest.mark.parametrize("name", _CASES)
def test_seed_behaviour(name, dtype):
    _CASES[name](dtype)


def test_shapes_that_do_not_fit_name_the_op_and_what_it_got():
    with pytest.raises(ShapeError, match=r"add\(float32\[2\], float32\[3\]\)"):
        rg.ones(2) + rg.ones(3)


def test_a_copy_of_a_leaf_is_a_leaf_of_its_own():
    x = leaf([1.0, 2.0])
    twin = copy.deepcopy(x)
    (twin * 3).sum().backward()
    assert twin.requires_grad
    assert x.grad is None

"""What is right at the edges, and where the references differ."""

from functools import partial

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import OutOfRangeError
from retrograde.testing import assert_close

BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
INF, NAN = np.inf, np.nan
BIG = np.array([-800.0, 0.0, 800.0])


def derivative(function, *points, dtype=np.float64, seed=None):
    """The gradients in each of `points`, under the cotangent `seed` or ones; no warning may be raised on the way back."""
    tensors = [rg.tensor(np.asarray(p, dtype), requires_grad=True) for p in points]
    z = function(*tensors)
    z.backward(np.ones(z.shape, dtype) if seed is None else np.asarray(seed, dtype))
    found = [np.zeros(t.shape, dtype) if t.grad is None else t.grad.data for t in tensors]
    assert all(g.dtype == dtype for g in found)
    return found[0] if len(found) == 1 else found


# One case each: the function, where, and its gradients there.
CASES = {
    "x**0 at 0": (lambda x: x**0, ([0.0, 2.0],), ([0, 0],)),
    "x**0. at 0": (lambda x: x**0.0, ([0.0, 2.0],), ([0, 0],)),
    "x**0 at 0, tensor exponent": (lambda x, y: x**y, ([0.0],), ([0],), [0.0]),
    "x**1.5 at 0": (lambda x: x**1.5, ([0.0],), ([0],)),
    "x**2 at 0, tensor exponent": (lambda x, y: x**y, ([0.0, 0.0], [2.0, 0.5]), ([0, INF], [0, 0])),
    "x**3 of a negative base, tensor exponent": (lambda x, y: x ** y.detach(), ([-2.0], [3.0]), ([12], [0])),
    "sqrt at 0": (rg.sqrt, ([0.0],), ([INF],)),
    "norm of zeros": (rg.norm, ([0.0, 0.0],), ([0, 0],)),
    "norm of zeros, ord=1": (lambda x: rg.norm(x, 1), ([0.0, -2.0],), ([0, -1],)),
    "norm of zeros, ord=3": (lambda x: rg.norm(x, 3), ([0.0, 0.0],), ([0, 0],)),
    "norm of zeros, ord=inf": (lambda x: rg.norm(x, INF), ([0.0, 0.0],), ([0, 0],)),
    "std of a constant": (rg.std, ([2.0, 2.0, 2.0],), ([0, 0, 0],)),
    "var of a constant": (rg.var, ([2.0, 2.0],), ([0, 0],)),
    "maximum(x, 0) at a tie": (lambda x: rg.maximum(x, 0), ([0.0, 1.0, -1.0],), ([0.5, 1, 0],)),
    "relu at 0": (rg.relu, ([0.0, 1.0, -1.0],), ([0, 1, 0],)),
    "clip at its bounds": (lambda x: rg.clip(x, -1, 1), ([-1.0, 1.0, 0.0, 2.0, -2.0],), ([1, 1, 1, 0, 0],)),
    "abs at 0": (rg.abs, ([0.0, -2.0],), ([0, -1],)),
    "sign near 0 (T5)": (rg.sign, ([-1e-30, 1e-30, 0.0],), ([0, 0, 0],)),
    "prod with one zero": (rg.prod, ([2.0, 0.0, 3.0],), ([0, 6, 0],)),
    "prod with two zeros": (rg.prod, ([0.0, 0.0, 3.0],), ([0, 0, 0],)),
    "cumprod with zeros": (lambda x: rg.cumprod(x, 0), ([2.0, 0.0, 3.0],), ([1, 2 + 6, 0],)),
    "max of ties": (rg.max, ([1.0, 3.0, 3.0],), ([0, 0.5, 0.5],)),
    "min of ties": (rg.min, ([1.0, 1.0, 1.0, 3.0],), ([1 / 3, 1 / 3, 1 / 3, 0],)),
    "sort of ties, by position": (lambda x: rg.sort(x) * np.arange(1.0, 4.0), ([2.0, 1.0, 2.0],), ([2, 1, 3],)),
    "sinc at 0": (rg.sinc, ([0.0],), ([0],)),
    "xlogy at (0, 0)": (rg.xlogy, ([0.0], [0.0]), ([0], [0])),
    "hypot at (0, 0)": (rg.hypot, ([0.0], [0.0]), ([0], [0])),
    "atan2 at (0, 0)": (rg.atan2, ([0.0], [0.0]), ([0], [0])),
    "leaky_relu at 0": (lambda x: rg.leaky_relu(x, 0.25), ([0.0, -1.0],), ([0.25, 0.25],)),
    "repeated index": (lambda x: x[[0, 0]], ([1.0, 2.0],), ([2, 0],)),
    "repeated index in two axes": (lambda x: x[[0, 0], [1, 1]], ([[1.0, 2.0]],), ([[0, 2]],)),
    "empty": (lambda x: (x * 2).sum(), (np.zeros((0, 3)),), (np.zeros((0, 3)),)),
    "empty (1, 3) + (0, 3)": (rg.add, (np.ones((1, 3)), np.ones((0, 3))), (np.zeros((1, 3)), np.zeros((0, 3)))),
    "sum with where": (lambda x: rg.sum(x, where=np.array([True, False])), ([1.0, 2.0],), ([1, 0],)),
    "mean with where": (lambda x: rg.mean(x, where=np.array([True, False, True])), ([1.0, 2.0, 3.0],), ([0.5, 0, 0.5],)),
    "var with where": (lambda x: rg.var(x, where=np.array([True, False, True])), ([1.0, 9.0, 3.0],), ([-1, 0, 1],)),
    "prod with where, one zero": (lambda x: rg.prod(x, where=np.array([True, False, True])), ([0.0, 9.0, 3.0],), ([3, 0, 0],)),
    "logsumexp with -inf": (rg.logsumexp, ([-INF, 0.0, 0.0],), ([0, 0.5, 0.5],)),
    "softmax with -inf": (lambda x: rg.softmax(x) * np.array([1.0, 2.0, 4.0]), ([-INF, 0.0, 0.0],), ([0, -0.5, 0.5],)),
    "log_softmax with -inf": (lambda x: rg.log_softmax(x)[1:], ([-INF, 0.0, 0.0],), ([0, 0, 0],)),
    "max with NaN": (rg.max, ([1.0, NAN, 3.0],), ([0, 1, 0],)),
    "min with NaN": (rg.min, ([1.0, NAN, 3.0],), ([0, 1, 0],)),
    "maximum with NaN": (rg.maximum, ([NAN, 1.0, 5.0], [2.0, NAN, 1.0]), ([1, 0, 1], [0, 1, 0])),
    "minimum with NaN": (rg.minimum, ([NAN, 1.0, 5.0], [2.0, NAN, 1.0]), ([1, 0, 0], [0, 1, 1])),
    "where(x > 0, log x, 0), safe form": (lambda x: rg.where(x > 0, rg.log(rg.where(x > 0, x, 1)), 0), ([-1.0, 0.0, 2.0],), ([0, 0, 0.5],)),
}
CASES["x**0 at 0, tensor exponent"] = (lambda x, y: x ** y.detach(), ([0.0, 3.0], [0.0, 0.0]), ([0, 0], [0, 0]))


@BOTH
@pytest.mark.parametrize("case", CASES)
def test_gradient_at_the_edge(case, dtype):
    function, points, expected = CASES[case]
    found = derivative(function, *points, dtype=dtype)
    for g, wanted in zip([found] if len(points) == 1 else found, expected, strict=True):
        np.testing.assert_allclose(g, wanted, rtol=1e-6, atol=1e-7)


@BOTH
def test_where_gives_nan_from_the_branch_that_is_not_taken(dtype):
    with np.errstate(all="ignore"):
        g = derivative(lambda x: rg.where(x > 0, rg.log(x), 0), [0.0, 2.0], dtype=dtype)
    assert np.isnan(g[0])
    assert g[1] == 0.5


@BOTH
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", ["sigmoid", "log_sigmoid", "softplus", "tanh", "elu", "mish", "silu", "gelu", "selu", "logaddexp", "erf",
                                  "atan", "hardswish"])
def test_activations_are_finite_at_800(name, order, dtype):
    function = getattr(rg, name)
    call = (lambda x: function(x, 0.0)) if name == "logaddexp" else function
    for _ in range(order - 1):
        call = partial(_grad_of, call)
    x = rg.tensor(BIG.astype(dtype), requires_grad=True)
    z = call(x)
    z.sum().backward()
    assert np.isfinite(z.data).all()
    assert np.isfinite(x.grad.data).all()


def _grad_of(function, x):
    return rg.core.gradient.gradient([function(x).sum()], [x], create_graph=True)[0]


@BOTH
def test_softmax_of_minus_infinities_alone_is_nan(dtype):
    with np.errstate(all="ignore"):
        assert np.isnan(rg.softmax(rg.tensor(np.full(2, -INF, dtype))).data).all()
        assert rg.logsumexp(rg.tensor(np.full(2, -INF, dtype))).item() == -INF


@BOTH
def test_cross_entropy_with_a_masked_logit_is_finite(dtype):
    x = rg.tensor(np.array([[0.5, -INF, 1.0]], dtype), requires_grad=True)
    loss = rg.cross_entropy(x, np.array([2]))
    loss.backward()
    assert np.isfinite(loss.item())
    assert np.isfinite(x.grad.data).all()
    assert x.grad.data[0, 1] == 0


@BOTH
def test_maximum_and_max_give_nan_forward(dtype):
    x = rg.tensor(np.array([1.0, NAN], dtype))
    for found in (rg.max(x), rg.min(x), rg.maximum(x, 0.0)[1], rg.minimum(0.0, x)[1], rg.relu(x)[1]):
        assert np.isnan(found.item())


@BOTH
@pytest.mark.parametrize("index", [5, -6, (0, 3), [0, 7], (slice(None), [4])])
def test_an_index_out_of_range_raises(index, dtype):
    x = rg.tensor(np.ones((5, 3), dtype), requires_grad=True)
    with pytest.raises(IndexError):
        x[index]
    with pytest.raises(OutOfRangeError):
        x[index]
    with pytest.raises(OutOfRangeError):
        rg.take(x, np.array([5]), axis=0)


@pytest.mark.parametrize("other", [2.0, 2, True, np.float32(2), np.array(2, np.int8)])
@pytest.mark.parametrize("op", [rg.add, rg.subtract, rg.multiply, rg.divide, rg.power, rg.maximum, rg.logaddexp], ids=lambda f: f.__name__)
def test_the_dtype_of_a_gradient_is_that_of_its_tensor(op, other):
    for left in (True, False):
        x = rg.tensor(np.array([1.5, 2.5], np.float32), requires_grad=True)
        z = op(x, other) if left else op(other, x)
        assert z.dtype == np.float32
        z.sum().backward()
        assert x.grad.dtype == np.float32


def test_a_float32_beside_a_float64_array_keeps_its_gradients_dtype():
    x = rg.tensor(np.array([1.0, 2.0], np.float32), requires_grad=True)
    z = x * np.array([1.0, 2.0])
    assert z.dtype == np.float64
    z.sum().backward()
    assert x.grad.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.bool_])
def test_integer_tensors_cannot_require_gradients(dtype):
    with pytest.raises(TypeError, match="float"):
        rg.tensor(np.ones(2, dtype), requires_grad=True)
    with pytest.raises(TypeError, match="float"):
        rg.tensor(np.ones(2, dtype)).requires_grad_()


def test_0_d_tensors_are_numbers_and_several_elements_are_not_a_truth():
    t = rg.tensor(2.5)
    assert (float(t), int(t), bool(t), complex(t)) == (2.5, 2, True, 2.5 + 0j)
    assert float(rg.tensor([3.0])) == 3.0
    assert not bool(rg.tensor([0.0]))
    assert bool(rg.tensor([[1.0]]))
    for several in (rg.tensor([1.0, 2.0]),):
        for kind in (float, int, bool):
            with pytest.raises((ValueError, TypeError)):
                kind(several)
    assert [10, 20, 30][rg.tensor(1)] == 20
    with pytest.raises(TypeError):
        [10, 20][rg.tensor(1.0)]


@BOTH
@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3), (1, 3)])
@pytest.mark.parametrize("op", [rg.sum, rg.mean, rg.prod, rg.logsumexp, rg.std], ids=lambda f: f.__name__)
def test_reductions_of_every_shape_have_gradients_of_that_shape(op, shape, dtype):
    if op is not rg.sum and op is not rg.prod and 0 in shape:
        pytest.skip("of nothing: NaN, or an error as in NumPy")
    x = rg.tensor(np.ones(shape, dtype) * 1.5, requires_grad=True)
    op(x).backward()
    assert_close(x.grad, x.grad.data.reshape(shape))
    assert x.grad.dtype == dtype


@BOTH
def test_mean_of_nothing_is_nan(dtype):
    with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
        assert np.isnan(rg.mean(rg.tensor(np.ones((0,), dtype))).item())


@BOTH
@pytest.mark.parametrize("dividend", [np.nan, INF, -INF, 0.0, -0.0])
def test_special_numbers_pass_as_in_numpy(dividend, dtype):
    x = np.array([dividend, 1.0], dtype)
    for name in ("add", "multiply", "divide", "maximum", "minimum", "power", "logaddexp", "hypot", "atan2"):
        with np.errstate(all="ignore"):
            ours = getattr(rg, name)(rg.tensor(x), 2.0).data
            theirs = getattr(np, {"atan2": "arctan2"}.get(name, name))(x, dtype(2))
        np.testing.assert_array_equal(ours, theirs, err_msg=name)
        assert (np.signbit(ours) == np.signbit(theirs)).all()


# Section 5, the column "ours", as far as it is not above.


def test_table_astype_to_an_integer_has_no_derivative():
    assert not rg.tensor([1.5], requires_grad=True).astype(rg.int64).requires_grad


def test_table_index_out_of_range_is_an_index_error():
    with pytest.raises(IndexError):
        rg.tensor([1.0])[3]


@BOTH
def test_table_norm_and_hypot_do_not_overflow_backward(dtype):
    x, y = derivative(rg.hypot, [1e30], [1e30], dtype=dtype)
    np.testing.assert_allclose([x[0], y[0]], np.sqrt(0.5), rtol=1e-6)

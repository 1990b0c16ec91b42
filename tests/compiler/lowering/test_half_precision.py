"""float16 and bfloat16 in compiled code: one rounding at the end of a pass, and none where something may be compared without it."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.dtypes import as_dtype

DTYPES = ["float16", "bfloat16"]
#: What one rounding may change, of the number itself.
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
is_native = pytest.mark.skipif(backends.chosen_name() != "native", reason="NumPy rounds after each op")


def drawn(*shape, seed=0, dtype="bfloat16", positive=False):
    x = np.random.default_rng(seed).uniform(0.1, 2, shape)
    return (x if positive else x * np.random.default_rng(seed + 1).choice([-1, 1], shape)).astype(as_dtype(dtype))


def wide(x):
    return np.asarray(x).astype(np.float64)


#: Elementwise functions, and by how many units of float32's last place they may be off before they are rounded.
FUNCTIONS = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y, "divide": lambda x, y: x / y,
    "negative": lambda x, y: -x, "abs": lambda x, y: abs(x), "sqrt": lambda x, y: (x * 1.0)**0.5, "power": lambda x, y: x**y,
    "maximum": lambda x, y: _of(x).maximum(x, y), "minimum": lambda x, y: _of(x).minimum(x, y), "exp": lambda x, y: _of(x).exp(x),
    "expm1": lambda x, y: _of(x).expm1(x), "log": lambda x, y: _of(x).log(x), "log1p": lambda x, y: _of(x).log1p(x),
    "sin": lambda x, y: _of(x).sin(x), "cos": lambda x, y: _of(x).cos(x), "tan": lambda x, y: _of(x).tan(x / 2),
    "tanh": lambda x, y: _of(x).tanh(x), "sinh": lambda x, y: _of(x).sinh(x), "cosh": lambda x, y: _of(x).cosh(x),
    "atan": lambda x, y: _of(x).arctan(x), "hypot": lambda x, y: _of(x).hypot(x, y), "floor": lambda x, y: _of(x).floor(x),
    "where": lambda x, y: _of(x).where(x > y, x, y), "chain": lambda x, y: _of(x).tanh(x * y + 1) * x - y,
}


def _of(x):
    return rg if isinstance(x, rg.Tensor) else np


@pytest.mark.sampled(3)
@is_native
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_op_by_element_is_within_one_rounding_of_float64(name, dtype):
    x, y = (drawn(1003, seed=seed, dtype=dtype, positive=True) for seed in (0, 2))
    f = FUNCTIONS[name]
    with np.errstate(all="ignore"):
        exact = f(wide(x), wide(y))
    found = rg.jit(f)(x, y)
    assert found.dtype == as_dtype(dtype)
    # A product of two or three numbers of a chain may lose a few units of float32's last place where it cancels.
    assert (np.abs(wide(found) - exact) <= 1.0001 * UNIT[dtype] * np.abs(exact) + 1e-6).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [
    lambda x: x.sum(axis=1), lambda x: x.mean(axis=0), lambda x: rg.softmax(x, axis=1), lambda x: rg.logsumexp(x, axis=1),
    lambda x: rg.var(x, axis=1), lambda x: rg.max(x, axis=0), lambda x: rg.cumsum(x, axis=1), lambda x: rg.prod(x[:, :9], axis=1),
    lambda x: x @ x.T], ids=["sum", "mean", "softmax", "logsumexp", "var", "max", "cumsum", "prod", "matmul"])
def test_folds_and_products_add_up_in_float32(f, dtype):
    x = drawn(24, 40, dtype=dtype)
    exact = wide(rg.jit(f)(wide(x)))
    # Each result is rounded once more where an op is made of several.
    assert np.allclose(wide(rg.jit(f)(x)), exact, rtol=2.01 * UNIT[dtype], atol=2.01 * UNIT[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_cast_that_is_written_rounds(dtype):
    x = drawn(50, dtype="float32", seed=3)
    found = rg.jit(lambda x: (x.astype(dtype).astype("float32") - x) * 2)(x)
    expected = (x.astype(as_dtype(dtype)).astype(np.float32) - x) * 2
    assert np.array_equal(found, expected) and np.any(expected)


def _is_largest(x):
    y = x * 1.37
    return y == rg.max(y)


def _is_last(x):
    y = rg.tanh(x) * 3
    return y == rg.sort(y)[-1]


def _is_largest_of_joined(x):
    y = rg.exp(x) * x
    return y >= rg.concat([y[:1], y])[:-1].max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("f", [_is_largest, _is_last, _is_largest_of_joined])
def test_what_is_compared_is_what_is_stored(f, dtype):
    x = drawn(301, dtype=dtype)
    assert np.array_equal(rg.jit(f)(x), f(rg.tensor(x)))
    assert np.any(rg.jit(f)(x))


@pytest.mark.parametrize("dtype", DTYPES)
def test_selection_sees_numbers_beyond_the_range(dtype):
    x = np.array([1, 2e38, 3.4e38] if dtype == "bfloat16" else [1, 4e4, 6e4]).astype(as_dtype(dtype))
    found = rg.jit(lambda x: (rg.isinf(x * 2), rg.where(x * 2 == np.inf, 1, x)))(x)
    assert np.array_equal(found[0], [False, True, True])
    assert np.array_equal(wide(found[1]), [1, 1, 1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_python_are_rounded_to_the_type_that_they_meet(dtype):
    x = drawn(20, dtype=dtype)
    for f in (lambda x: x + 0.1, lambda x: 1.3 * x, lambda x: x > 0.3, lambda x: rg.where(x > 0, x, 0.7)):
        assert np.array_equal(rg.jit(f)(x), f(rg.tensor(x)))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("other", ["int8", "int64", "bool", "float16", "bfloat16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_to_and_from_all_types_are_numpys(dtype, other):
    x = np.array([0, 1, -2.5, 3.14159, 100, 7e-6, -0.0], np.float64)
    for source, target in ((dtype, other), (other, dtype)):
        a = x.astype(as_dtype(source))
        expected = a.astype(as_dtype(target))
        found = np.asarray(rg.jit(lambda a, target=target: a.astype(target))(a))
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_moved_as_they_are(dtype):
    bits = np.array([0, 1, 0x8001, 0x7F80, 0xFF80, 0x7C00, 0x3C01, 0x0123, 0x4000, 0x3FFF], np.uint16)
    x = bits.view(as_dtype(dtype)).reshape(2, 5)
    f = lambda x: (x.T, x[:, ::-2], rg.concat([x, x[:, :2]], axis=1), rg.pad(x, 1), rg.take(x, np.array([3, 0, 0]), axis=1))
    for found, expected in zip(rg.jit(f)(x), f(rg.tensor(x)), strict=True):
        assert np.array_equal(np.asarray(found).view(np.uint16), np.asarray(expected).view(np.uint16))


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_have_the_type_of_what_they_belong_to(dtype):
    x, w = (rg.tensor(drawn(6, 6, dtype=dtype, seed=seed), requires_grad=True) for seed in (0, 5))
    loss = lambda x, w: (rg.relu(x @ w) * rg.tanh(x)).sum()
    found, expected = rg.jit(rg.grad(loss, (0, 1)))(x, w), rg.grad(loss, (0, 1))(x, w)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == as_dtype(dtype) and np.allclose(wide(a.detach()), wide(b.detach()), rtol=0.05, atol=0.05)


@is_native
def test_a_chain_is_one_pass_and_takes_no_memory_between():
    x = drawn(5000)
    step = rg.jit(lambda x: rg.exp(rg.sin(x) * 2 + 1) - x)
    step(x)
    assert [kernel.kind for kernel in step.explain().kernels] == ["loop"]


@pytest.mark.parametrize("target", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("source", ["float64", "float32", "float16", "bfloat16"])
def test_what_is_rounded_goes_on_in_its_own_type(source, target):
    rounded = rg.ops.get("rounded").call
    f = lambda x, y: rg.mean(rg.tanh(rg.mean(rounded(x, dtype=as_dtype(target)))) + y, axis=1)
    x, y = drawn(2, 3).astype(as_dtype(source)), drawn(3, 7, seed=1).astype(np.float64)
    found, expected = rg.jit(f)(x, y), f(rg.tensor(x), rg.tensor(y))
    assert found.dtype == expected.dtype and np.allclose(found, expected, rtol=0.01, atol=0.01)


def test_a_number_that_was_only_widened_is_not_rounded_again():
    step = rg.jit(rg.grad(lambda x, y: (x * y).sum()))
    x, y = (rg.tensor(drawn(40, 30, seed=seed)) for seed in (0, 5))
    assert np.array_equal(wide(step(x, y)), wide(y))
    assert "rounded" not in [op for kernel in step.explain().kernels for op in kernel.ops]


#: Lengths of a vector of several registers, less and more than it, of chunks, and of rows that begin anywhere.
@pytest.mark.parametrize("shape", [(31,), (32,), (65,), (5003,), (70_001,), (3, 257), (64, 96)])
@pytest.mark.parametrize("f", [
    lambda x, y: x * 2 + y, lambda x, y: (x * y, y - x), lambda x, y: x[..., ::-1] + y, lambda x, y: (x + y, (x * y).sum(-1)),
    lambda x, y: x + x.astype("float32") * y, lambda x, y: x * rg.abs(y).max(-1, keepdims=True)],
    ids=["one", "two", "turned", "folded", "mixed", "broadcast"])
def test_numbers_are_where_they_belong_whatever_the_order_of_lanes(f, shape):
    x, y = (drawn(*shape, seed=seed) for seed in (0, 2))
    found, expected = rg.jit(f)(x, y), f(wide_tensor(x), wide_tensor(y))
    for part, exact in zip(*[z if isinstance(z, tuple) else (z,) for z in (found, expected)], strict=True):
        exact = exact.numpy()
        slack = 1e-4 * np.sqrt(shape[-1]) if exact.ndim < len(shape) else 1e-6
        assert (np.abs(wide(part) - exact) <= 2.01 * UNIT["bfloat16"] * np.abs(exact) + slack).all()


def wide_tensor(x):
    return rg.tensor(x.astype(np.float64))


@is_native
@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("maximum", "minimum", "where", "power")])
def test_nan_stays_nan_whatever_its_bits(name):
    bits = np.concatenate([np.arange(1, 128, dtype=np.uint16) + start for start in (0x7F80, 0xFF80)])
    x = np.concatenate([np.tile(bits, 9), [0x3F80]]).astype(np.uint16).view(as_dtype("bfloat16"))
    with np.errstate(all="ignore"):
        found = wide(rg.jit(FUNCTIONS[name])(x, x))
    assert np.isnan(found[:-1]).all() and not np.isnan(found[-1])


@pytest.mark.parametrize("bits", [0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFF8001])
def test_one_nan_among_numbers_of_float32_is_narrowed_as_nan(bits):
    cast = rg.jit(lambda x: x.astype("bfloat16"))
    for place in (0, 9, 40, 2049):
        x = drawn(2050, dtype="float32")
        x.view(np.uint32)[place] = bits
        found = wide(cast(x))
        assert np.flatnonzero(np.isnan(found)).tolist() == [place]
        kept = np.arange(len(x)) != place
        assert np.array_equal(found[kept], x[kept].astype(as_dtype("bfloat16")).astype(np.float64))


@is_native
@pytest.mark.parametrize("f", [
    lambda x: rg.softmax(x, axis=1) * 1.375, lambda x: rg.nn.functional.layer_norm(x, (40,)) * 1.375,
    lambda x: rg.mean(x * x, axis=1, keepdims=True) * x], ids=["softmax", "layer norm", "mean"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_ops_of_several_make_goes_on_unrounded_in_a_pass(f, dtype):
    x = drawn(24, 40, dtype=dtype)
    exact = wide(rg.jit(f)(wide(x).astype(np.float32)))
    assert (np.abs(wide(rg.jit(f)(x)) - exact) <= 1.0001 * UNIT[dtype] * np.abs(exact) + 1e-6).all()

"""Eager functions of large arrays are computed by the kernels of compiled code."""

import os

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.compiler.backends.cpu import functions
from retrograde.core.gradient import gradient
from retrograde.ops import _native
from together import in_threads, on_threads

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
RNG = np.random.default_rng(0)
#: Two chunks and a part of a group.
MANY = 40_011
OPS = [op for op in map(rg.ops.get, rg.ops.names()) if isinstance(op.faster, _native.ByElement)]


def _operands(op, dtype, size=MANY):
    # All functions have a derivative there.
    low, high = (1.2, 3) if op.name == "acosh" else (0.2, 0.8)
    return [RNG.uniform(low, high, size).astype(dtype) for _ in op.operands]


def _gradients(op, arrays, g):
    tensors = [rg.tensor(x, requires_grad=True) for x in arrays]
    op.call(*tensors).backward(g)
    return [t.grad.numpy() for t in tensors]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_large_arrays_have_the_bits_of_compiled_functions_and_the_numbers_of_numpy(op):
    arrays = _operands(op, np.float32)
    found = op.call(*map(rg.tensor, arrays)).numpy()
    np.testing.assert_array_equal(found, rg.jit(op.call)(*arrays))
    np.testing.assert_allclose(found, op.kernel(*arrays, *(op.kernel.__defaults__ or ())), rtol=4e-6, atol=1e-7)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_slopes_of_large_arrays_are_those_of_small_ones(op):
    arrays, g = _operands(op, np.float64, 17_000), RNG.standard_normal(17_000)
    found = _gradients(op, arrays, g)
    parts = [_gradients(op, [x[i : i + 200] for x in arrays], g[i : i + 200]) for i in range(0, 17_000, 200)]
    for whole, pieces in zip(found, zip(*parts, strict=True), strict=True):
        np.testing.assert_allclose(whole, np.concatenate(pieces), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("size", [256, 257, 319, 4097, 16_383, 16_384, 16_385, 65_600, 1_100_007])
def test_sizes_of_all_kinds(size):
    x = RNG.standard_normal(size).astype(np.float32)
    np.testing.assert_allclose(rg.gelu(rg.tensor(x)).numpy(), rg.ops.get("gelu_erf").kernel(x), rtol=1e-5, atol=1e-6)


LAYOUTS = {
    "transposed": lambda: RNG.standard_normal((90, 70)).T, "permuted": lambda: RNG.standard_normal((9, 70, 10)).transpose(1, 2, 0),
    "cut": lambda: RNG.standard_normal((90, 140))[:, 20:90], "turned": lambda: RNG.standard_normal((90, 70))[::-1],
    "repeated": lambda: np.broadcast_to(RNG.standard_normal(70), (90, 70)),
    "between elements": lambda: _between_elements(RNG.standard_normal((90, 70))),
}


def _between_elements(x):
    found = np.zeros(x.nbytes + 4, np.uint8)[4:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_of_all_kinds(layout):
    x = LAYOUTS[layout]()
    x.flags.writeable = False
    t, g = rg.tensor(x, requires_grad=True), RNG.standard_normal(x.shape)
    t.data = x
    z = rg.silu(t)
    z.backward(g)
    chance = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(z.data, x * chance, rtol=1e-12)
    np.testing.assert_allclose(t.grad.numpy(), g * chance * (1 + x * (1 - chance)), rtol=1e-9, atol=1e-12)


def _asked(monkeypatch):
    asked = []
    note = lambda name, *_: asked.append(name) or NotImplemented
    monkeypatch.setattr(_native.native, "found", dict.fromkeys(("function", "fast_function", "shaped"), note))
    return asked


def test_small_arrays_are_left_to_numpy(monkeypatch):
    asked, x = _asked(monkeypatch), rg.tensor(RNG.standard_normal((15, 17)), requires_grad=True)
    rg.gelu(rg.exp(x)).sum().backward()
    assert not asked


def test_parameters_of_another_value_are_left_to_numpy(monkeypatch):
    asked, x = _asked(monkeypatch), rg.tensor(RNG.standard_normal(MANY), requires_grad=True)
    rg.softplus(x, 0.5).sum().backward()
    assert not [name for name in asked if name[0] == "softplus"]
    rg.softplus(x).sum().backward()
    assert ("softplus",) in asked
    assert ("softplus", 0) in asked


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_large_arrays_of_half_precision_are_rounded_a_few_times_at_most(op, dtype):
    arrays = [rg.astype(x, dtype) for x in _operands(op, np.float32, 5001)]
    found, exact = op.call(*arrays), op.kernel(*[x.astype(np.float64) for x in arrays], *(op.kernel.__defaults__ or ()))
    assert found.dtype == dtype
    # Once is half a unit of the last place; some functions are several ops, each of which rounds.
    half_a_unit = {rg.float16: 2.0**-11, rg.bfloat16: 2.0**-8}[dtype]
    np.testing.assert_allclose(np.asarray(found, np.float64), exact, rtol=4 * half_a_unit, atol=2.0**-25)


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16])
def test_functions_of_half_precision_round_keep_and_overflow_as_numpy_does(dtype):
    special = [0.0, -0.0, 1e-7, -1e-7, 6e4, -6e4, np.inf, -np.inf, np.nan, 11.1, 12.5]
    x = rg.astype(np.resize(np.array(special, np.float32), 4097), dtype)
    with np.errstate(all="ignore"):
        for name in ("exp", "tanh", "sigmoid", "silu"):
            op = rg.ops.get(name)
            found, exact = (np.asarray(z, np.float64) for z in (op.call(x), op.kernel(x.astype(np.float32)).astype(dtype)))
            np.testing.assert_allclose(found, exact, rtol=0.01, atol=1e-7)
            assert (np.signbit(found) == np.signbit(exact))[~np.isnan(exact)].all()


@pytest.mark.parametrize("dtype", [rg.int64, rg.complex128])
def test_other_dtypes_are_left_to_numpy(dtype):
    x = rg.astype(RNG.uniform(1, 3, MANY), dtype)
    assert functions.function(("sigmoid",), rg.sigmoid, (x,)) is NotImplemented
    np.testing.assert_array_equal(np.asarray(rg.sigmoid(x)), rg.ops.get("sigmoid").kernel(x))


def test_arrays_of_two_shapes_are_left_to_numpy():
    x, y = RNG.uniform(1, 2, (200, 300)), RNG.uniform(1, 2, 300)
    np.testing.assert_allclose(rg.hypot(rg.tensor(x), rg.tensor(y)).numpy(), np.hypot(x, y), rtol=1e-14)
    np.testing.assert_allclose(rg.power(rg.tensor(x), 2.5).numpy(), x**2.5, rtol=1e-14)


def test_ops_of_users_are_called_as_they_are(monkeypatch):
    asked = _asked(monkeypatch)

    @rg.ops.elementwise(faster=_native.by_element)
    def halved_once_more(x, /):
        return x / 2

    try:
        np.testing.assert_array_equal(halved_once_more(np.ones(MANY)), np.full(MANY, 0.5))
        assert not asked
    finally:
        rg.ops.unregister("halved_once_more")


def test_rules_of_users_are_called_as_they_are():
    op, x = rg.ops.get("cosh"), rg.tensor(RNG.standard_normal(MANY), requires_grad=True)
    before = op.rules
    try:
        rg.cosh.defvjp(lambda g: 7 * g)
        rg.cosh(x).sum().backward()
    finally:
        op.rules = before
        op.__dict__.pop("packs", None)
    np.testing.assert_array_equal(x.grad.numpy(), np.full(MANY, 7.0))


def test_numpy_computes_where_it_is_the_way(monkeypatch):
    monkeypatch.setenv(backends.VARIABLE, "reference")
    monkeypatch.setattr(_native.native, "found", {})
    x = RNG.standard_normal(MANY)
    np.testing.assert_array_equal(rg.gelu(rg.tensor(x)).numpy(), rg.ops.get("gelu_erf").kernel(x))


def test_results_do_not_depend_on_the_number_of_threads():
    x = RNG.standard_normal(1_000_003)
    found = on_threads(lambda: rg.erf(x))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_several_threads_may_compute_at_the_same_time():
    inputs, found = [RNG.standard_normal(70_000 + 1000 * i) for i in range(4)], {}

    def compute(i):
        found[i] = [rg.tanh(inputs[i]) for _ in range(20)]

    in_threads(compute, [(i,) for i in range(4)])
    for i, x in enumerate(inputs):
        for array in found[i]:
            np.testing.assert_allclose(array, np.tanh(x), rtol=1e-14)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_computes_too():
    x = RNG.standard_normal(100_000)
    expected, child = rg.gelu(x), os.fork()
    if not child:
        os._exit(0 if np.array_equal(rg.gelu(x), expected) and rg.erfc(x).shape == x.shape else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_second_derivatives_go_through_the_rules():
    x = rg.tensor(RNG.standard_normal(MANY), requires_grad=True)
    z, g = rg.tanh(x), RNG.standard_normal(MANY)
    (first,) = gradient([z], [x], [g], create_graph=True)
    (second,) = gradient([first], [x], [np.ones(MANY)])
    t = np.tanh(x.data)
    np.testing.assert_allclose(first.data, g * (1 - t * t), rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(second, -2 * g * t * (1 - t * t), rtol=1e-9, atol=1e-13)

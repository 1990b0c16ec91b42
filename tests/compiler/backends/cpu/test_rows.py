"""Eager functions of rows, and small kernels, have the numbers of NumPy's for rows of any number and length."""

import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu import fast_calls, rows
from retrograde.ops import _native

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
RNG = np.random.default_rng(0)
LAYOUTS = [((25, 40), -1), ((25, 40), 0), ((7, 3, 20), (1, 2)), ((9, 8, 7), -1), ((30, 31), None), ((4, 5, 6, 7), (0, 2, 3)), ((257,), 0),
           ((4, 5, 60), 1)]
NAMES = ["softmax", "log_softmax", "logsumexp", "mean", "max", "var", "std", "norm", "standardize"]


def _called(op, x, axis):
    return op.call(x, axis=axis)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axis"), LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_rows_have_the_numbers_and_the_slopes_of_numpy(name, shape, axis, dtype, monkeypatch):
    op, x = rg.ops.get(name), RNG.standard_normal(shape).astype(dtype)

    def run():
        t = rg.tensor(x, requires_grad=True)
        z = _called(op, t, axis)
        z.backward(np.cos(np.arange(z.size)).reshape(z.shape).astype(dtype))
        return z.detach().numpy(), t.grad.numpy()

    found = run()
    monkeypatch.setattr(_native.native, "found", dict.fromkeys(("planned_rows", "shaped", "small"), lambda *_: NotImplemented))
    tolerance = 3e-5 if dtype == np.float32 else 1e-12
    for a, b in zip(found, run(), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_rows_are_computed_by_a_kernel_and_not_by_numpy(monkeypatch):
    if fast_calls.by_rows(1, 1, (0,)) is None:
        pytest.skip("this interpreter has no fast calls")
    op, called = rg.ops.get("softmax"), []
    large = _native.ByRows(None)(("softmax",), lambda x, axis: called.append(x), op._on_values, ())
    x = RNG.standard_normal((25, 40))
    np.testing.assert_allclose(large(x, -1), op.kernel(x, -1), rtol=1e-12)
    assert not called
    large(x.T, 0)  # not one number after the other
    assert called


def test_nan_and_infinity_go_through_rows_as_through_numpy():
    x = RNG.standard_normal((20, 30))
    x[1, 2], x[3, 4], x[5] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        for name in ("logsumexp", "max", "mean"):
            op = rg.ops.get(name)
            defaults = [op.defaults[i] for i in range(1, len(op.arguments))]
            np.testing.assert_allclose(op.call(rg.tensor(x), axis=1).numpy(), op.kernel(x, 1, *defaults[1:]), rtol=1e-12)


def test_positions_out_of_range_are_errors_also_where_a_kernel_finds_them():
    x, places = rg.tensor(RNG.standard_normal((20, 30)), requires_grad=True), np.zeros((20, 30), np.int64)
    places[3, 4] = 30
    with pytest.raises(rg.errors.OutOfRangeError):
        rg.take_along_axis(x, places, 1)
    with pytest.raises(rg.errors.RetrogradeError):
        rg.cross_entropy(x, np.full(20, 30))


@pytest.mark.parametrize("descending", [False, True])
def test_short_rows_are_sorted_as_numpy_sorts_them(descending):
    x = RNG.integers(-3, 3, (40, 23)).astype(np.float32)
    x[2, 5] = x[2, 9] = np.nan
    x[4, 1], x[4, 2] = -0.0, 0.0
    expected = np.argsort(x, -1, kind="stable")
    if descending:
        expected = 22 - np.argsort(x[:, ::-1], -1, kind="stable")[:, ::-1]
    np.testing.assert_array_equal(rg.argsort(x, descending=descending), expected)


def test_a_layer_of_lstm_has_the_gradients_of_its_ops():
    shapes = (9, 3, 44), (3, 11), (3, 11), (44, 11)
    arrays = [RNG.standard_normal(shape) for shape in shapes]

    def run(shift):
        tensors = [rg.tensor(x, requires_grad=True) for x in arrays]
        hs, cs, _ = rg.ops.get("lstm_layer").call(*[t + shift for t in tensors])
        ((hs * hs).sum() + (cs[-1] * cs[2]).sum()).backward()
        return [t.grad.numpy() for t in tensors]

    found, recorder = run(0.0), rg.ops.recurrent._are_plain
    try:
        rg.ops.recurrent._are_plain = lambda operands: False
        expected = run(0.0)
    finally:
        rg.ops.recurrent._are_plain = recorder
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def test_a_variance_with_a_correction_beyond_the_length_of_rows_is_that_of_numpy_for_many_rows_too():
    x = RNG.standard_normal((1, 300))
    with np.errstate(invalid="ignore"):
        assert np.isnan(rg.var(rg.tensor(x), axis=0, correction=2).numpy()).all()
        assert np.isnan(rg.var(rg.tensor(x.T), axis=1, correction=3).numpy()).all()


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_huber_loss_of_many_elements_is_that_of_its_formula(reduction):
    x, y = 2 * RNG.standard_normal((2, 300))
    size = abs(x - y)
    expected = np.where(size <= 1, size * size / 2, size - 0.5)
    expected = expected if reduction == "none" else getattr(expected, reduction)()
    np.testing.assert_allclose(rg.nn.functional.huber_loss(rg.tensor(x), rg.tensor(y), reduction=reduction), expected, rtol=1e-12)


def test_an_axis_that_is_equal_to_an_integer_is_refused_after_that_integer_as_before():
    x = rg.tensor(RNG.standard_normal((20, 20)))
    rg.mean(x, 0)
    for axis in (0.0, False):
        with pytest.raises(rg.errors.DTypeError):
            rg.mean(x, axis)


@pytest.mark.parametrize("axis", [2, -3, 5])
def test_elements_along_an_axis_that_is_not_there_are_refused_for_many_elements_too(axis):
    x, places = rg.tensor(RNG.standard_normal((20, 20))), np.zeros((20, 20), np.int64)
    with pytest.raises(rg.errors.AxisError):
        rg.take_along_axis(x, places, axis)


@pytest.mark.parametrize("size", [200, 300])
def test_parameters_that_are_arrays_or_have_a_dtype_are_taken_at_any_size(size):
    x = RNG.standard_normal(size).astype(np.float32)
    slopes = np.linspace(0, 1, size)
    np.testing.assert_allclose(rg.leaky_relu(rg.tensor(x), slopes), np.where(x > 0, x, slopes * x), rtol=1e-12)
    assert rg.softplus(rg.tensor(x), np.float64(1)).dtype == np.float64


@pytest.mark.parametrize("name", ["sin", "erf", "lgamma", "erfinv"])
@pytest.mark.parametrize("shape", [(10, 20), (60, 50)])
def test_results_by_element_lie_in_memory_in_one_order_whatever_their_size(name, shape):
    x = rg.tensor(RNG.uniform(-0.9, 0.9, shape)).T
    z = rg.ops.get(name).call(x)
    assert z.numpy().strides == x.numpy().strides
    gapped = x[::2, ::-1]
    assert rg.ops.get(name).call(gapped).numpy().strides == np.empty_like(gapped.numpy()).strides
    np.testing.assert_allclose(rg.ops.get(name).call(gapped), z[::2, ::-1], rtol=1e-12)
    np.testing.assert_allclose(z.T, rg.ops.get(name).call(x.T + 0), rtol=1e-12)


@pytest.mark.parametrize(("name", "shape"), [("weight_hh_l0", (4, 5)), ("weight_ih_l0", (800, 3)), ("weight_hh_l0", (1, 5))])
def test_an_lstm_with_a_weight_of_another_shape_is_an_error_and_reads_nothing(name, shape):
    module = rg.nn.LSTM(3, 5, bias=False)
    setattr(module, name, rg.nn.Parameter(rg.ones(*shape)))
    with pytest.raises(rg.errors.ShapeError, match="hidden_size"):
        module(rg.ones(7, 2, 3))


def test_an_lstm_that_was_pickled_gives_the_same_bits():
    module, x = rg.nn.LSTM(6, 9), rg.tensor(RNG.standard_normal((11, 4, 6)).astype(np.float32))
    again = pickle.loads(pickle.dumps(module))
    np.testing.assert_array_equal(again(x)[0].detach(), module(x)[0].detach())


def test_a_parameter_that_changes_at_each_call_compiles_no_kernel_each_time():
    x = rg.tensor(np.linspace(-2, 2, 400, dtype=np.float32).reshape(4, 100))
    for delta in np.linspace(0.5, 1.5, 2 * rows._MOST_KERNELS).tolist():
        found = rg.nn.functional.huber_loss(x, rg.zeros_like(x), delta=delta)
        size = np.abs(np.asarray(x, np.float64))
        np.testing.assert_allclose(found, np.where(size < delta, size**2 / 2, delta * (size - delta / 2)).mean(), rtol=1e-5)
    assert max(rows._counts.values()) <= rows._MOST_KERNELS


def test_shapes_have_the_roles_that_rows_give_them():
    matrix, images = rows._Layout((5, 7), (1,), False), rows._Layout((2, 3, 4, 5), (2, 3), False)
    assert [rows._role_of_shape("x", shape, matrix) for shape in ((5, 7), (5, 1), (1, 7), (5,), (7,))] == ["full", "kept", None, None, "place"]
    assert [rows._role_of_shape(name, (5,), matrix) for name in ("g", "z")] == ["dropped", "dropped"]
    assert rows._role_of_shape("g", (7,), matrix) is None
    assert images.channel == (3, 4, 1) and images._replace(axes=(1, 2)).channel is None and matrix.channel is None

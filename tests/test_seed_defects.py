"""Defects found by running the five systems: ours must not have one. Each test names those it rules out."""


import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import FreedGraphError, InplaceError, OutOfRangeError
from retrograde.testing import assert_close, check_gradients
from together import in_threads

BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
RNG = np.random.default_rng(4)


def leaf(data, dtype=np.float64):
    return rg.tensor(np.asarray(data, dtype), requires_grad=True)


def defect(*names):
    """Marks a test with the defects that it rules out, which stand in its id."""
    return pytest.mark.parametrize("defect", ["+".join(names)])


# Wrong in silence.


@defect("C1")
@BOTH
def test_sigmoid_is_applied_once_in_its_gradient(defect, dtype):
    x = leaf([-1.0, 0.0, 2.0], dtype)
    rg.sigmoid(x).sum().backward()
    s = 1 / (1 + np.exp(-np.array([-1.0, 0.0, 2.0])))
    assert_close(x.grad, (s * (1 - s)).astype(dtype), rtol=1e-5)


@defect("C2")
@BOTH
def test_mse_gradient_has_one_over_n(defect, dtype):
    x, y = leaf([1.0, 2.0, 4.0], dtype), leaf([0.0, 0.0, 1.0], dtype)
    rg.mse_loss(x, y).backward()
    assert_close(x.grad, np.array([2, 4, 6], dtype) / 3)


@defect("C3", "C3c")
@pytest.mark.parametrize("axis", [(-1, -2), (0, -1), (2, 0), (1,), -2])
@pytest.mark.parametrize("op", [rg.sum, rg.mean], ids=["sum", "mean"])
def test_sums_over_negative_axes_spread_along_the_right_ones(defect, op, axis):
    check_gradients(lambda x: op(x, axis=axis), RNG.normal(size=(2, 3, 4)), order=1)


@defect("C4", "C4b")
def test_batched_matmul_transposes_the_last_two_axes_only(defect):
    check_gradients(rg.matmul, (RNG.normal(size=(5, 2, 3)), RNG.normal(size=(5, 3, 4))))


@defect("C5")
def test_a_transpose_of_a_transpose_keeps_the_gradient(defect):
    x = leaf(RNG.normal(size=(2, 3)))
    weights = RNG.normal(size=(2, 3))
    (x.T.T * weights).sum().backward()
    assert_close(x.grad, weights)


@defect("C6", "S22")
def test_a_second_backward_adds_the_same_again_or_raises(defect):
    x = leaf(2.0)
    y = (x * x) * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 24.0
    with pytest.raises(FreedGraphError):
        y.backward()


@defect("C7", "S10c")
@BOTH
def test_no_op_changes_the_dtype(defect, dtype):
    x = leaf([1.0, 2.0], dtype)
    assert x.dtype == dtype
    for z in (rg.relu(x), rg.maximum(x, 0.0), x * 2.5, 1 / x, rg.softmax(x), rg.gelu(x), rg.leaky_relu(x), rg.mean(x), x**2, rg.std(x)):
        assert z.dtype == dtype


@defect("C8", "M3")
@BOTH
def test_arrays_and_numbers_may_stand_on_the_left(defect, dtype):
    array, x = np.array([2.0, 3.0], dtype), leaf([4.0, 5.0], dtype)
    for found, expected in [(array * x, [8, 15]), (array - x, [-2, -2]), (array / x, [0.5, 0.6]), (1 - x, [-3, -4]), (x / array, [2, 5 / 3]),
                            (array @ x, 23), (2**x, [16, 32]), (array + x, [6, 8]), (7 // x, [1, 1]), (np.float64(1) - x, [-3, -4])]:
        assert isinstance(found, rg.Tensor)
        assert found.dtype != object
        np.testing.assert_allclose(found.data, np.asarray(expected), rtol=1e-6)
    assert (array > x).dtype == rg.bool_
    assert x[0].item() == 4.0
    assert_close(x ** rg.tensor(np.array(2, dtype)), np.array([16, 25], dtype))
    assert_close(x + array, np.array([6, 8], dtype))


@defect("C10", "S5", "T6")
@BOTH
def test_power_at_base_zero(defect, dtype):
    for exponent, expected in [(0, 0), (1, 1), (2, 0), (0.0, 0), (3.5, 0)]:
        x = leaf([0.0], dtype)
        (x**exponent).sum().backward()
        assert_close(x.grad, np.array([expected], dtype))
    x, y = leaf([0.0, 0.0], dtype), leaf([2.0, 0.0], dtype)
    (x**y).sum().backward()
    assert_close(x.grad, np.zeros(2, dtype))
    assert_close(y.grad, np.zeros(2, dtype))


@defect("C29", "M13")
def test_two_losses_that_share_a_subgraph_accumulate_completely(defect):
    x = leaf(3.0)
    shared = x * x
    first, second = shared * 2, shared + x
    first.backward(retain_graph=True)
    second.backward()
    assert x.grad.item() == 2 * 6 + 6 + 1


@defect("S11", "S12")
@BOTH
def test_maximum_and_max_with_nan(defect, dtype):
    x = leaf([np.nan, 1.0], dtype)
    z = rg.maximum(x, 0.0)
    z.sum().backward()
    assert np.isnan(z.data[0])
    assert_close(x.grad, np.array([1, 1], dtype))
    x.grad = None
    rg.max(x).backward()
    assert_close(x.grad, np.array([1, 0], dtype))


@defect("S14")
def test_slices_stay_in_the_graph(defect):
    x = leaf([1.0, 2.0, 3.0])
    ((x[0:2] * 2).sum() + (x * np.array([1.0, 10.0, 100.0])).sum() + x[::-1][0] * 5).backward()
    assert_close(x.grad, np.array([3.0, 12.0, 105.0]))


@defect("S15")
def test_writing_into_a_saved_value_is_refused_and_in_place_operators_work(defect):
    x = leaf([1.0, 2.0])
    y = x * 1.0
    z = y * y
    y *= 3
    with pytest.raises(InplaceError):
        z.sum().backward()
    y = x * 1.0
    y *= 3
    y.sum().backward()
    assert_close(x.grad, np.array([3.0, 3.0]))


@defect("S16", "M17")
def test_float32_parameters_get_float32_gradients(defect):
    w = leaf([1.0, 2.0], np.float32)
    (w * np.array([1.0, 2.0])).sum().backward()
    assert w.grad.dtype == np.float32


@defect("S18")
def test_xavier_weights_have_both_signs(defect):
    for initialise in (nn.init.xavier_uniform_, nn.init.xavier_normal_, nn.init.kaiming_uniform_, nn.init.kaiming_normal_):
        w = rg.zeros(40, 50)
        initialise(w)
        assert abs(float(w.mean())) < 0.05
        assert 0.3 < float((w > 0).astype(rg.float32).mean()) < 0.7


@defect("S20")
@BOTH
def test_sigmoid_gradient_is_finite_at_minus_800(defect, dtype):
    x = leaf([-800.0, 800.0], dtype)
    z = rg.sigmoid(x)
    z.sum().backward()
    assert_close(z, np.array([0, 1], dtype))
    assert_close(x.grad, np.zeros(2, dtype))


@defect("S25", "S25b")
def test_gradients_are_writable_and_share_no_memory(defect):
    x, y = leaf([1.0, 2.0]), leaf([3.0, 4.0])
    (x + y).sum().backward()
    assert not np.shares_memory(x.grad.data, y.grad.data)
    x.grad *= 0.5
    x.grad.data.clip(-0.1, 0.1, out=x.grad.data)
    assert_close(y.grad, np.ones(2))
    z = leaf([1.0, 2.0])
    z.sum().backward()
    z.grad.data *= 2


@defect("S26", "S26c")
def test_where_and_out_of_numpys_functions_count_backward(defect):
    mask = np.array([True, False, True])
    x = leaf([1.0, 2.0, 3.0])
    np.sum(x, where=mask).backward()
    assert_close(x.grad, np.array([1.0, 0.0, 1.0]))
    x.grad = None
    out = rg.full((3,), 5.0, dtype=np.float64)
    np.multiply(x, 2.0, out=out, where=mask)
    assert_close(out.detach(), np.array([2.0, 5.0, 6.0]))
    out.sum().backward()
    assert_close(x.grad, np.array([2.0, 0.0, 2.0]))


@defect("S32")
def test_truth_of_a_tensor_is_that_of_its_number(defect):
    assert not rg.tensor([0.0])
    assert rg.tensor(2.0)
    assert float(rg.tensor([1.5])) == 1.5
    with pytest.raises(ValueError, match=r"ambiguous|more than one"):
        bool(rg.tensor([0.0, 1.0]))
    loss = leaf(0.5).sum()
    assert ("big" if loss else "small") == "big"


@defect("S33")
def test_a_sum_over_a_list_of_elements_keeps_the_gradient(defect):
    x = leaf([1.0, 2.0, 3.0])
    sum(list(x)).backward()
    assert_close(x.grad, np.ones(3))


@defect("S38")
def test_no_grad_acts_on_its_own_thread_alone(defect):
    x, seen = leaf([1.0]), []
    with rg.no_grad():
        in_threads(lambda: seen.append((x * 2).requires_grad))
        assert not (x * 2).requires_grad
    assert seen == [True]


@defect("S44")
def test_big_endian_arrays_become_right_numbers(defect, tmp_path):
    x = rg.tensor(np.array([1.0, 2.0], ">f4"))
    assert x.dtype == np.float32
    assert x.dtype.isnative
    assert x.tolist() == [1.0, 2.0]
    pytest.importorskip("safetensors")
    rg.io.save({"x": np.array([1.0, 2.0], ">f8")}, tmp_path / "w.safetensors")
    assert rg.io.load(tmp_path / "w.safetensors")["x"].tolist() == [1.0, 2.0]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


@defect("S45")
def test_tied_layers_are_counted_and_updated_once(defect):
    model = Tied()
    assert len(list(model.parameters())) == 3
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    before = model.first.weight.data.copy()
    model(rg.ones(2, 3)).sum().backward()
    g = model.first.weight.grad.data.copy()
    optimizer.step()
    assert_close(model.second.weight.detach(), before - 0.1 * g, rtol=1e-5)


@defect("S50")
def test_detach_cuts_this_path_and_no_other(defect):
    x = leaf(3.0)
    y = x * 2
    (y.detach() * x + y).backward()
    assert x.grad.item() == 6.0 + 2.0
    assert y.requires_grad


@defect("S51")
def test_integer_tensors_do_not_require_gradients(defect):
    assert not rg.tensor([1, 2]).requires_grad
    with pytest.raises(TypeError):
        rg.tensor([1, 2], requires_grad=True)


@defect("M8", "S7")
def test_broadcast_batches_of_matmul_have_gradients_of_their_shape(defect):
    for a, b in [((2, 1, 3, 4), (5, 4, 2)), ((4, 2), (3, 2, 5)), ((1, 3, 4), (6, 4, 2))]:
        check_gradients(rg.matmul, (RNG.normal(size=a), RNG.normal(size=b)))


@defect("M10")
@pytest.mark.parametrize("shapes", [((2, 3), (3,)), ((2, 1), (1, 3)), ((), (2, 3)), ((1, 1), (2, 3)), ((4, 1, 3), (2, 1))])
def test_broadcast_add_returns_gradients_of_the_operands_shapes(defect, shapes):
    x, y = (leaf(RNG.normal(size=s)) for s in shapes)
    z = x + y
    z.backward(RNG.normal(size=z.shape))
    assert (x.grad.shape, y.grad.shape) == shapes


@defect("M14")
def test_momentum_keeps_no_graph(defect):
    w = nn.Parameter(rg.ones(3))
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
        assert w.is_leaf
        for entry in optimizer.state.values():
            assert not any(getattr(v, "requires_grad", False) for v in entry.values())


@defect("M15")
def test_adams_bias_correction_is_the_same_for_every_parameter(defect):
    a, b = nn.Parameter(rg.ones(2)), nn.Parameter(rg.ones(2))
    optimizer = optim.Adam([a, b], lr=0.1)
    (a.sum() + b.sum()).backward()
    optimizer.step()
    assert_close(a.detach(), np.float32([0.9, 0.9]), rtol=1e-5)
    assert_close(b.detach(), a.detach())


@defect("M19")
def test_dropout_drops_the_part_it_says(defect):
    rg.manual_seed(0)
    kept = float((nn.functional.dropout(rg.ones(10_000), 0.1) != 0).astype(rg.float32).mean())
    assert 0.88 < kept < 0.92
    layer = nn.Dropout(0.5).eval()
    assert_close(layer(rg.ones(5)), rg.ones(5))


@defect("M20")
def test_linear_has_its_bias_among_its_parameters(defect):
    assert dict(nn.Linear(2, 3).named_parameters()).keys() == {"weight", "bias"}
    assert nn.Linear(2, 3, bias=False).bias is None


@defect("M22")
@BOTH
def test_softmax_of_large_numbers_is_finite(defect, dtype):
    x = leaf([1000.0, 999.0, -1000.0], dtype)
    z = rg.softmax(x)
    z[0].backward()
    assert np.isfinite(z.data).all()
    assert np.isfinite(x.grad.data).all()
    assert float(z.sum()) == pytest.approx(1, rel=1e-6)


@defect("T5")
@BOTH
def test_sign_is_right_near_zero(defect, dtype):
    assert rg.sign(rg.tensor(np.array([-1e-30, 0.0, 1e-30], dtype))).tolist() == [-1.0, 0.0, 1.0]


@defect("T7")
@BOTH
def test_hyperbolic_functions_are_precise_near_zero(defect, dtype):
    x = np.array([1e-10, -3e-7, 2e-4], dtype)
    for name in ("tanh", "sinh", "asinh", "atanh", "expm1", "log1p"):
        exact = getattr(np, {"asinh": "arcsinh", "atanh": "arctanh"}.get(name, name))(x.astype(np.float64))
        np.testing.assert_allclose(getattr(rg, name)(rg.tensor(x)).data, exact, rtol=4 * np.finfo(dtype).eps, err_msg=name)


@defect("T8")
@BOTH
def test_softplus_of_100_is_100(defect, dtype):
    x = leaf([100.0, -100.0], dtype)
    z = rg.softplus(x)
    z.sum().backward()
    assert z.data[0] == 100
    assert 0 <= z.data[1] < 1e-40
    assert x.grad.data[0] == 1


@defect("T11")
@BOTH
def test_cos_of_ten_thousand_is_right(defect, dtype):
    assert rg.cos(rg.tensor(np.array(1e4, dtype))).item() == pytest.approx(np.cos(1e4), rel=1e-6)


@defect("T13")
@BOTH
def test_std_of_a_constant_has_gradient_zero(defect, dtype):
    x = leaf([3.0, 3.0, 3.0], dtype)
    rg.std(x).backward()
    assert_close(x.grad, np.zeros(3, dtype))


@defect("T15")
@BOTH
def test_rounding_does_not_overflow_and_passes_no_gradient(defect, dtype):
    for name in ("floor", "ceil", "trunc", "round"):
        x = leaf([3e9, -2.5], dtype)
        z = getattr(rg, name)(x)
        assert z.data[0] == dtype(3e9)
        if z.requires_grad:
            z.sum().backward()
            assert not x.grad.data.any()
    assert not x.astype(rg.int64).requires_grad


@defect("T20")
def test_mean_of_nothing_is_nan(defect):
    with pytest.warns(RuntimeWarning):
        assert np.isnan(rg.mean(rg.zeros(0)).item())


@defect("T22")
@BOTH
def test_gather_out_of_range_raises_and_rows_do_not_infect_each_other(defect, dtype):
    table = leaf([[1.0, 2.0], [np.inf, np.nan]], dtype)
    row = rg.take(table, np.array([0]), axis=0)
    row.sum().backward()
    assert_close(row.detach(), np.array([[1, 2]], dtype))
    assert_close(table.grad, np.array([[1, 1], [0, 0]], dtype))
    for read in (lambda: rg.take(table, np.array([2]), axis=0), lambda: table[2], lambda: rg.take_along_axis(table, np.array([[5, 0]]), 0)):
        with pytest.raises(OutOfRangeError):
            read()


@defect("T23")
@BOTH
def test_concatenation_keeps_minus_zero(defect, dtype):
    x = rg.tensor(np.array([-0.0], dtype))
    for joined in (rg.concatenate([x, x]), rg.stack([x, x]), rg.pad(x, 1)[1:2]):
        assert np.signbit(joined.data).all()


@defect("T34")
def test_integers_promote_as_in_numpy(defect):
    found = rg.tensor(np.array([1], np.int64)) + rg.tensor(np.array([1], np.uint64))
    assert found.dtype == np.float64
    assert (rg.tensor(np.array([1], np.int8)) + rg.tensor(np.array([1], np.uint8))).dtype == np.int16
    assert (rg.tensor([1]) + 1).dtype == np.int64


@defect("T42")
def test_quotients_of_integers_are_floats_and_remainders_work(defect):
    x = rg.tensor([7, -7])
    assert (x / 2).tolist() == [3.5, -3.5]
    assert (x // 2).tolist() == [3, -4]
    assert (x % 3).tolist() == [1, 2]
    assert (7.5 % rg.tensor([2.0])).tolist() == [1.5]
    y = leaf([7.5])
    (y % 2.0).sum().backward()
    assert y.grad.item() == 1.0


@defect("T43")
def test_split_means_what_it_means_in_numpy(defect):
    x = rg.arange(6)
    assert [p.tolist() for p in rg.split(x, 3)] == [p.tolist() for p in np.split(np.arange(6), 3)]
    assert [p.tolist() for p in rg.split(x, (1, 4))] == [p.tolist() for p in np.split(np.arange(6), (1, 4))]


@defect("T57")
@BOTH
def test_gelu_is_exact(defect, dtype):
    from scipy.special import ndtr
    x = np.linspace(-5, 5, 101).astype(dtype)
    assert_close(rg.gelu(rg.tensor(x)), (x.astype(float) * ndtr(x.astype(float))).astype(dtype), rtol=1e-5, atol=1e-6)


@defect("T60", "S6")
def test_vectors_may_stand_on_either_side_of_a_matrix(defect):
    v, w, m = RNG.normal(size=2), RNG.normal(size=3), RNG.normal(size=(2, 3))
    assert_close(rg.tensor(v) @ rg.tensor(m), v @ m)
    assert_close(rg.tensor(m) @ rg.tensor(w), m @ w)
    for a, b in ((v, m), (m, w), (w, w), (RNG.normal(size=(4, 2, 3)), w), (v, RNG.normal(size=(4, 2, 3)))):
        check_gradients(rg.matmul, (a, b))


# Raises where it should work.


@defect("C28")
def test_reshape_finds_the_missing_size(defect):
    assert rg.ones(2, 3).reshape(-1).shape == (6,)
    assert rg.ones(2, 3).reshape(3, -1).shape == (3, 2)


@defect("C11", "M27")
def test_a_chain_of_20_000_ops_needs_no_recursion(defect):
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + 1.0
    y.backward()
    assert x.grad.item() == 1.0


@defect("S2c", "S58", "M6")
def test_axes_may_be_integers_of_any_kind_and_positions(defect):
    x = leaf(RNG.normal(size=(2, 3)))
    for found in (np.sum(x, 0), x.sum(0), rg.sum(x, np.int64(0)), rg.sum(x, axis=(np.int32(0),)), np.sum(x, axis=np.int64(-2))):
        assert_close(found.detach(), x.data.sum(0))
    assert rg.expand_dims(x, np.int64(1)).shape == (2, 1, 3)
    assert rg.softmax(x, np.int64(0)).shape == (2, 3)


@defect("S10")
def test_numpys_maximum_with_a_number_works_and_so_does_relu(defect):
    x = leaf([-1.0, 2.0])
    np.maximum(x, 0.0).sum().backward()
    assert_close(x.grad, np.array([0.0, 1.0]))


@defect("S21", "C38", "T45")
def test_empty_operands_broadcast(defect):
    x, y = leaf(np.ones((1, 3))), leaf(np.ones((0, 3)))
    (x * y + x).sum().backward()
    assert_close(x.grad, np.zeros((1, 3)))
    assert y.grad.shape == (0, 3)


NUMPYS = {
    "tanh": lambda n, x: n.tanh(x), "where": lambda n, x: n.where(np.array([True, False, True]), x, 0.0), "clip": lambda n, x: n.clip(x, -1, 1),
    "concatenate": lambda n, x: n.concatenate([x, x * 2]), "stack": lambda n, x: n.stack([x, x], axis=1), "cumsum": lambda n, x: n.cumsum(x),
    "prod": lambda n, x: n.prod(x), "einsum": lambda n, x: n.einsum("ij,j->i", n.outer(x, x), x), "sort": lambda n, x: n.sort(x),
    "pad": lambda n, x: n.pad(x, 1), "take": lambda n, x: n.take(x, [2, 0, 0]), "outer": lambda n, x: n.outer(x, x),
    "norm": lambda n, x: n.linalg.norm(x),
    "mean": lambda n, x: n.mean(x), "std": lambda n, x: n.std(x), "var": lambda n, x: n.var(x), "max": lambda n, x: n.max(x),
    "min": lambda n, x: n.min(x), "flip": lambda n, x: n.flip(x), "roll": lambda n, x: n.roll(x, 1), "tile": lambda n, x: n.tile(x, 2),
    "repeat": lambda n, x: n.repeat(x, 2), "squeeze": lambda n, x: n.squeeze(x[None]), "expand_dims": lambda n, x: n.expand_dims(x, 0),
    "reshape": lambda n, x: n.reshape(x, (3, 1)), "transpose": lambda n, x: n.transpose(n.outer(x, x)), "dot": lambda n, x: n.dot(x, x),
    "swapaxes": lambda n, x: n.swapaxes(n.outer(x, x), 0, 1), "moveaxis": lambda n, x: n.moveaxis(n.outer(x, x), 0, 1),
    "ravel": lambda n, x: n.ravel(n.outer(x, x)), "diagonal": lambda n, x: n.diagonal(n.outer(x, x)), "trace": lambda n, x: n.trace(n.outer(x, x)),
    "tril": lambda n, x: n.tril(n.outer(x, x)), "triu": lambda n, x: n.triu(n.outer(x, x)), "sinc": lambda n, x: n.sinc(x),
    "logaddexp": lambda n, x: n.logaddexp(x, 0.5), "hypot": lambda n, x: n.hypot(x, 1.0), "arctan2": lambda n, x: n.arctan2(x, 2.0),
    "cumprod": lambda n, x: n.cumprod(x), "broadcast_to": lambda n, x: n.broadcast_to(x, (2, 3)), "matmul": lambda n, x: n.matmul(x, x),
    "absolute": lambda n, x: n.absolute(x), "square": lambda n, x: n.square(x), "expm1": lambda n, x: n.expm1(x), "cbrt": lambda n, x: n.cbrt(x),
    "amax": lambda n, x: n.amax(x), "copy": lambda n, x: n.copy(x), "diag": lambda n, x: n.diag(x), "split": lambda n, x: n.split(x, 3)[1],
}


@defect("about 30 functions of NumPy without a derivative")
@pytest.mark.parametrize("name", NUMPYS)
def test_numpys_functions_have_derivatives(defect, name):
    point = np.array([0.3, -1.4, 2.0])
    expected = NUMPYS[name](np, point)
    found = NUMPYS[name](np, leaf(point))
    assert isinstance(found, rg.Tensor)
    assert_close(found.detach(), np.asarray(expected))
    check_gradients(lambda x: NUMPYS[name](np, x), point)


@defect("M2")
def test_a_matrix_has_its_transpose_as_an_attribute(defect):
    assert rg.ones(2, 3).T.shape == (3, 2)
    assert rg.ones(2, 3, 4).mT.shape == (2, 4, 3)


@defect("M9")
def test_logsumexp_goes_over_all_axes(defect):
    check_gradients(rg.logsumexp, RNG.normal(size=(2, 3, 2)))
    check_gradients(lambda x: rg.logsumexp(x, axis=(0, 2), keepdims=True), RNG.normal(size=(2, 3, 2)))


@defect("M29", "T51")
def test_numpys_scalars_and_ranges_become_tensors(defect):
    assert rg.tensor(np.float32(3)).dtype == np.float32
    assert rg.tensor(np.float64(3)).dtype == np.float64
    assert rg.tensor(range(3)).tolist() == [0, 1, 2]
    x = leaf([1.0, 2.0])
    for found in (x * np.float64(2), np.float64(2) * x, x + np.int64(1), np.int32(1) + x):
        assert isinstance(found, rg.Tensor)
        assert found.requires_grad


@defect("M33")
def test_layer_norm_of_three_axes(defect):
    def normed(x):
        return (x - rg.mean(x, axis=-1, keepdims=True)) / rg.sqrt(rg.var(x, axis=-1, keepdims=True) + 1e-5)

    check_gradients(normed, RNG.normal(size=(2, 3, 4)))


@defect("T14")
def test_where_and_floor_have_a_backward(defect):
    x = leaf([0.5, 1.5])
    (rg.where(x > 1, x * 2, x * 3) + rg.floor(x)).sum().backward()
    assert_close(x.grad, np.array([3.0, 2.0]))

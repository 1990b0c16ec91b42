"""Writing in place: differentiated as PyTorch does it, or refused; never silently wrong.

The expected gradients were computed with PyTorch 2.13.
"""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError, InplaceError, OutOfRangeError, ShapeError

WEIGHTS = np.array([1.0, 10.0, 100.0])


def leaf(*values):
    return rg.tensor(np.array(values), requires_grad=True)


def weighted(y):
    return (y * WEIGHTS[: len(y)]).sum()


def test_operators_in_place_are_differentiated():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y += 1
    y *= 3
    y -= x
    y /= 2
    weighted(y).backward()
    np.testing.assert_allclose(x.grad.numpy(), WEIGHTS * 2.5)


def test_items_that_were_written_have_the_gradient_of_what_was_written():
    x, w = leaf(1.0, 2.0, 3.0), leaf(5.0)
    y = x * 2
    y[1] = w[0] * 3
    weighted(y).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 0.0, 200.0])
    np.testing.assert_array_equal(w.grad.numpy(), [30.0])


def test_a_buffer_without_gradient_joins_the_graph_when_it_is_written_to():
    x = leaf(2.0, 3.0)
    buffer = rg.zeros(3, dtype=rg.float64)
    shown = buffer[0:2]
    buffer[0] = x[0] * x[1]
    buffer[2] = x[1]
    weighted(buffer).backward(retain_graph=True)
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 102.0])
    x.grad = None
    weighted(shown).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [3.0, 2.0])


def test_writing_through_a_view_reaches_its_base_and_all_other_views():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    first, other = y[0:2], y[1:3]
    first *= 3
    np.testing.assert_array_equal(y.detach().numpy(), [6.0, 12.0, 6.0])
    np.testing.assert_array_equal(other.detach().numpy(), [12.0, 6.0])
    (weighted(y) + weighted(other)).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 66.0, 220.0])


def test_writing_through_a_chain_of_views():
    x = rg.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    y = x * 1
    y.T[1][...] = y[:, 0] * 5
    (y * np.arange(1.0, 7.0).reshape(2, 3)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[11.0, 0.0, 3.0], [29.0, 0.0, 6.0]])


def test_writing_to_a_base_changes_what_its_views_are_derived_from():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    shown = y[1:]
    y *= x
    (shown * np.array([1.0, 10.0])).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 8.0, 120.0])


def test_a_saved_value_that_was_written_to_is_refused():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    z = y * y
    y += 1
    with pytest.raises(InplaceError, match="multiply"):
        z.sum().backward()
    s = rg.exp(x)
    t = s * 1
    s[0] = 0.0
    with pytest.raises(InplaceError, match="exp"):
        t.sum().backward()


def test_a_write_through_a_view_is_seen_by_what_saved_the_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    z = y * y
    y[0:1] += 1
    with pytest.raises(InplaceError):
        z.sum().backward()


def test_what_was_written_before_it_was_saved_is_fine():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y += 1
    (y * y).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [12.0, 20.0, 28.0])


def test_leaves_that_require_gradients_cannot_be_written_to_while_recording():
    x = leaf(1.0, 2.0)
    for write in (lambda: x.__iadd__(1), lambda: x.__setitem__(0, 1.0), lambda: x[0:1].__imul__(2)):
        with pytest.raises(InplaceError, match=r"no_grad|clone"):
            write()
    with rg.no_grad():
        x += 1
    np.testing.assert_array_equal(x.detach().numpy(), [2.0, 3.0])
    assert x.is_leaf


def test_a_parameter_updated_between_forward_and_backward_is_refused():
    w = leaf(1.0, 2.0)
    loss = (w * w).sum()
    with rg.no_grad():
        w -= 0.1
    with pytest.raises(InplaceError):
        loss.backward()


@pytest.mark.parametrize(("write", "error"), [
    (lambda y: y.__iadd__(np.ones((2, 3))), ShapeError),
    (lambda y: y.__setitem__(7, 1.0), OutOfRangeError),
    (lambda y: y.__setitem__(slice(0, 2), np.ones(3)), ShapeError),
])
def test_a_write_that_does_not_fit_changes_nothing(write, error):
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    record = y.record
    with pytest.raises(error):
        write(y)
    np.testing.assert_array_equal(y.detach().numpy(), [2.0, 4.0, 6.0])
    assert y.record is record


def test_integers_do_not_become_floats_in_place():
    x = rg.tensor([1, 2])
    with pytest.raises(DTypeError, match="int64"):
        x /= 2


def test_views_alias_memory_as_in_numpy_without_gradients():
    x = rg.zeros(2, 3)
    x[0][1] = 5.0
    x.T[2, 1] = 7.0
    x.reshape(-1)[0] = 1.0
    np.testing.assert_array_equal(x.numpy(), [[1.0, 5.0, 0.0], [0.0, 0.0, 7.0]])


def test_an_array_takes_what_has_no_gradient_to_lose():
    p = rg.nn.Parameter(rg.ones(2))
    p.data -= 0.5 * rg.tensor([1.0, 2.0])
    np.testing.assert_array_equal(p.data, [0.5, 0.0])
    np.testing.assert_array_equal(np.add(rg.ones(2), 1, out=np.zeros(2), where=np.array([True, False])), [2.0, 0.0])
    with pytest.raises(DTypeError, match="could not hold the gradient"):
        p.data -= 0.5 * p
    with rg.no_grad():
        p.data -= 0.5 * p
    np.testing.assert_array_equal(p.data, [0.25, 0.0])
    y = (p * p).sum()
    p.data += rg.ones(2)
    with pytest.raises(InplaceError):
        y.backward()


def test_views_of_bfloat16_alias_memory():
    x = rg.zeros(2, 3, dtype=rg.bfloat16)
    x[0][1] = 5.0
    x.T[2, 1] = 7.0
    np.testing.assert_array_equal(x.astype(rg.float32).numpy(), [[0.0, 5.0, 0.0], [0.0, 0.0, 7.0]])
    assert np.shares_memory(x[1:].data, x.data)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (1, 1, 3), (1, 1)])
def test_axes_of_length_one_in_front_of_what_is_written_are_left_out(shape):
    weights = np.arange(6.0).reshape(2, 3)
    values = np.linspace(1, 2, 2 * int(np.prod(shape))).reshape(2, *shape)

    def total(value):
        x = rg.zeros(2, 3, dtype="float64")
        x[0] = value
        return (x * x * weights).sum()

    expected = np.zeros(shape) + 2 * values[0] * (weights[0] if shape[-1] == 3 else weights[0].sum())
    for slope in (rg.grad(total), rg.jit(rg.grad(total)), lambda value: rg.vmap(rg.grad(total))(values)[0]):
        np.testing.assert_allclose(slope(values[0]), expected)


@pytest.mark.parametrize("form", ["eager", "jit", "lazy"])
@pytest.mark.parametrize(("mine", "other"), [(np.float32, np.float64), (np.float64, np.float32), (np.float16, np.float64)])
def test_writing_a_wider_type_in_place_casts_and_has_gradients(mine, other, form):
    def scaled(a, v):
        y = a * 1
        y *= v
        return y

    given = [np.array([2.0, 3.0], mine), np.array([0.5, 4.0], other)]
    weights = np.array([1.0, 2.0], mine)
    function = lambda a, v: (scaled(a, v) * weights).sum()
    gradient = rg.grad(function, argnums=(0, 1))
    if form == "lazy":
        with rg.lazy():
            value, found = np.asarray(scaled(*map(rg.tensor, given))), [np.asarray(g) for g in gradient(*map(rg.tensor, given))]
    else:
        make = rg.jit if form == "jit" else lambda f: f
        value, found = make(scaled)(*map(rg.tensor, given)), make(gradient)(*map(rg.tensor, given))
    assert value.dtype == mine and [np.asarray(g).dtype for g in found] == [mine, other]
    np.testing.assert_allclose(value, [1.0, 12.0])
    np.testing.assert_allclose(found[0], [0.5, 8.0])
    np.testing.assert_allclose(found[1], [2.0, 6.0])


def test_integers_are_not_written_over_by_floats():
    x = rg.tensor(np.ones(2, np.int64))
    with pytest.raises(DTypeError, match="keep the dtype int64"):
        x *= 1.5
    with pytest.raises(DTypeError, match="keep the dtype int64"):
        rg.jit(lambda x: x.__imul__(np.ones(2)))(rg.tensor(np.ones(2, np.int64)))


def test_round_takes_digits():
    x = np.array([1.234, -5.678, 12.5])
    for digits in (None, 0, 2, -1):
        np.testing.assert_allclose(round(rg.tensor(x), digits), np.round(x, digits or 0), atol=1e-12)
        np.testing.assert_allclose(rg.jit(lambda x, digits=digits: round(x, digits))(rg.tensor(x)), np.round(x, digits or 0), atol=1e-12)
    assert round(rg.tensor([3, 4]), 2).tolist() == [3, 4] and round(rg.tensor([13, 14]), -1).tolist() == [10, 10]


@pytest.mark.parametrize("op", [rg.linalg.eigh, rg.linalg.qr, rg.linalg.svd], ids=["eigh", "qr", "svd"])
def test_one_of_several_saved_results_that_was_written_to_is_refused(op):
    x = rg.tensor([[2.0, 0.5], [0.5, 1.0]], requires_grad=True)
    vectors = op(x)[1 if op is rg.linalg.eigh else 0]
    vectors *= 2
    with pytest.raises(InplaceError, match="written to in place"):
        (vectors * np.array([[1.0, 2.0], [3.0, 4.0]])).sum().backward()


@pytest.mark.parametrize("shown", [
    rg.squeeze, lambda t: rg.astype(t, "float64", copy=False), lambda t: t.reshape(2, 2), lambda t: t[...],
    lambda t: rg.permute_dims(t, (0, 1)), lambda t: rg.broadcast_to(t, (2, 2)), lambda t: rg.moveaxis(t, 0, 0),
], ids=["squeeze", "astype", "reshape", "getitem", "permute_dims", "broadcast_to", "moveaxis"])
@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit], ids=["eager", "jit"])
def test_a_view_where_there_was_nothing_to_do_is_a_view_too(shown, compiled):
    def function(x):
        y = x * 1
        z = shown(y)
        z[0] = 7.0
        return (z * z).sum() + 3 * (y**3).sum()

    def leaf(x):
        shown(x)[0] = 7.0
        return x.sum()

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    try:
        found = compiled(rg.grad(function))(x)
    except rg.errors.InplaceError:  # NumPy makes a view of it that cannot be written to
        return
    np.testing.assert_allclose(found, [[0, 0], [6 + 81, 8 + 144]])
    with pytest.raises(rg.errors.InplaceError, match="leaf"):
        compiled(rg.grad(leaf))(x)

"""Writing through views in traced functions: as eager ops write, whose memory they share."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import InplaceError, OutOfRangeError, TraceError

X = np.random.default_rng(0).standard_normal((4, 5))


def row(x):
    y = x * 2
    z = y[1]
    z += x[0]
    z[2:] *= 3
    return y


def chosen_twice(x):
    y = x * 2
    y[1][0] = x[0, 0]
    y[2, 1:].copy_(x[3, 1:] ** 2)
    return y


def reshaped(x):
    y = x * 2
    flat = y.reshape(-1)
    flat[3] = 1.0
    flat[::7] *= x[0, 0]
    return y


def turned(x):
    y = x * 2
    z = y.T[::-1].moveaxis(0, 1).swapaxes(0, 1)[None]
    z[0, 1] *= x[:, 0]
    rg.flip(y, 0)[0] += 1
    return y


def read_after(x):
    y = x * 2
    z = y[1:].reshape(5, 3)
    y *= x
    return z


def rows_in_turn(x):
    y = x * 2
    for i, z in enumerate(y):
        z[i] = -1
    return y


def split(x):
    y = x * 2
    a, b = rg.split(y, 2)
    a += b
    return y


def made_inside(x):
    y = rg.zeros(x.shape, dtype=x.dtype)
    for i in range(4):
        y[i][:2] = x[i, :2] * i
    return y


def made_and_read(x):
    y = rg.zeros(x.shape, dtype=x.dtype)
    before = y + 1
    y[1] = x[0]
    return y * x + before


def detached(x):
    y = x * 1
    y.detach()[0] = 0.5
    return y * y


def unrecorded(x):
    y = x * 1
    with rg.no_grad():
        y[0].zero_()
        y.T[1] *= 3
    return y * y


VIEWS = (row, chosen_twice, reshaped, turned, read_after, rows_in_turn, split, made_inside, made_and_read, detached, unrecorded)


@pytest.mark.parametrize("function", VIEWS)
def test_what_is_written_to_a_view_is_in_its_base_in_compiled_code_too(function):
    slopes = rg.grad(lambda x: (function(x) ** 2).sum())
    np.testing.assert_allclose(rg.jit(function)(rg.tensor(X)).numpy(), function(rg.tensor(X)).numpy())
    np.testing.assert_allclose(rg.jit(slopes)(X), slopes(X))


@pytest.mark.parametrize("function", [f for f in VIEWS if f is not detached])
def test_what_is_written_to_a_view_is_in_its_base_for_each_example_of_a_vmap(function):
    slopes = rg.vmap(rg.grad(lambda x: (function(x) ** 2).sum()))
    both = np.stack([X, -2 * X])
    np.testing.assert_allclose(rg.vmap(function)(both)[1], function(rg.tensor(both[1])).numpy())
    wanted = [rg.grad(lambda x: (function(x) ** 2).sum())(x) for x in both]
    np.testing.assert_allclose(slopes(both), wanted)
    np.testing.assert_allclose(rg.jit(slopes)(both), wanted)


def test_writing_to_a_view_of_a_tensor_from_outside_writes_to_that():
    def found(run):
        state = rg.tensor(X.copy())

        def step(x):
            first = state[0]
            state[1][2:] = x
            first += 1
            return state.sum() + first[0]

        step = run(step)
        return [step(rg.tensor(X[0, :3])).item() for _ in range(2)], state.numpy()

    for compiled, eager in zip(found(rg.jit), found(lambda f: f), strict=True):
        np.testing.assert_allclose(compiled, eager)


def test_a_tensor_and_a_view_of_it_that_both_come_from_outside_share_memory_in_a_jitted_function():
    whole = rg.tensor(X.copy())
    view = whole[1]
    part = rg.jit(lambda x: (view.copy_(x), whole.sum() + view.sum())[1])
    assert part(rg.ones(5, dtype=rg.float64)).item() == pytest.approx(np.delete(X, 1, 0).sum() + 10)
    assert whole[1].tolist() == [1] * 5


def test_a_view_that_shows_elements_twice_cannot_be_written_to():
    def function(x):
        x[0].expand(3, 5)[1] = 1
        return x

    with pytest.raises(InplaceError, match="more than once"):
        rg.jit(function)(rg.tensor(X))


MASKS = {
    "all": lambda y, x: y.__setitem__(y > 0, 0.5),
    "rows": lambda y, x: y.__setitem__(x.sum(1) > 0, x[0]),
    "columns": lambda y, x: y.__setitem__((slice(None), x.sum(0) > 0), x[:, :1]),
    "last axis": lambda y, x: y.__setitem__((..., x.sum(0) > 0), -1),
    "one value": lambda y, x: y.__setitem__(y > 0, x[:1, 0]),
    "a number": lambda y, x: y.__setitem__(y.sum() > 0, np.arange(5.0)),
    "through a view": lambda y, x: y[1].__setitem__(y[1] > 0, 7),
}


@pytest.mark.parametrize("write", MASKS.values(), ids=MASKS)
def test_a_mask_that_is_computed_may_say_where_something_is_written(write):
    def function(x):
        y = x * 2
        write(y, x)
        return y

    slopes = rg.grad(lambda x: (function(x) ** 2).sum())
    wanted = function(rg.tensor(X)).numpy()
    np.testing.assert_allclose(rg.jit(function)(rg.tensor(X)).numpy(), wanted)
    np.testing.assert_allclose(rg.jit(slopes)(X), slopes(X))
    np.testing.assert_allclose(rg.vmap(function)(np.stack([-X, X]))[1], wanted)


@pytest.mark.parametrize(("shape", "mask_shape"), [((4, 3), 0), ((4, 0), 0), ((4, 3), (0, 3)), ((4, 3), (0, 0))])
def test_an_empty_mask_chooses_nothing_of_an_axis_of_any_length(shape, mask_shape):
    def function(x, mask):
        y = x * 2
        y[mask] = 0.5
        return y

    x, mask = np.ones(shape), np.zeros(mask_shape, bool)
    np.testing.assert_array_equal(function(rg.tensor(x), mask), x * 2)
    np.testing.assert_array_equal(rg.jit(function)(x, mask), x * 2)


def test_what_a_mask_cannot_say_is_refused():
    def wrong_shape(x):
        x[x.sum(0) > 0] = 0

    def one_by_one(x):
        x[x > 0] = x.reshape(-1)[:3]

    with pytest.raises(OutOfRangeError, match=r"shape \(4,\)"):
        rg.jit(wrong_shape)(rg.tensor(X))
    with pytest.raises(TraceError, match="depends on data"):
        rg.jit(one_by_one)(rg.tensor(X))


# Loops and branches


def scanned(write):
    """A scan over the rows of its argument whose body writes to what is carried."""
    def function(x):
        def body(carry, xi):
            write(carry, xi)
            return carry, (carry**2).sum()

        return rg.scan(body, x[0] * 1, x)[1].sum()

    return function


@pytest.mark.parametrize("write", [lambda c, xi: c.__iadd__(xi), lambda c, xi: c.__setitem__(1, xi[0]),
                                   lambda c, xi: c[1:].__imul__(xi[1:])], ids=["whole", "element", "view"])
def test_the_body_of_a_compiled_loop_may_write_to_what_it_carries(write):
    function = scanned(write)
    np.testing.assert_allclose(rg.jit(function)(X), function(X))
    np.testing.assert_allclose(rg.jit(rg.vmap(function))(np.stack([X, 2 * X])), [function(X), function(2 * X)])
    wanted = rg.grad(lambda x: sum_in_python(write, x))(X)
    np.testing.assert_allclose(rg.jit(rg.grad(function))(X), wanted)
    np.testing.assert_allclose(rg.jit(rg.vmap(rg.grad(function)))(X[None])[0], wanted)


def sum_in_python(write, x):
    carry, total = x[0] * 1, 0.0
    for xi in x:
        carry = carry * 1
        write(carry, xi)
        total = total + (carry**2).sum()
    return total


@pytest.mark.parametrize("is_view", [False, True])
def test_gradients_flow_through_what_a_loop_writes_to_a_tensor_from_outside(is_view):
    def slopes(run):
        memory = rg.tensor(np.ones((4, 5)))

        def function(x):
            def body(total, xi):
                if is_view:
                    first = memory.reshape(-1)[5:10]
                    first *= xi
                else:
                    memory[1] *= xi
                return total + memory.sum(), None

            return rg.scan(body, 0.0, x)[0] + (memory**2).sum()

        return run(rg.grad(function))(rg.tensor(X)).numpy()

    np.testing.assert_allclose(slopes(rg.jit), slopes(lambda f: f))


def test_the_body_of_a_loop_or_branch_cannot_write_to_what_was_computed_outside_of_it():
    def looped(x):
        y = x * 2

        def body(c, xi):
            y[0][1] = xi[1]
            return c, None

        rg.scan(body, 0.0, x)
        return y

    def branched(x):
        y = x * 2
        rg.cond(x.sum() > 0, lambda: y.fill_(0).sum(), lambda: y.sum())
        return y

    def of_argument(x):
        return rg.cond(x.sum() > 0, lambda: x.fill_(0).sum(), lambda: x.sum())

    for function in (looped, branched, of_argument):
        with pytest.raises(TraceError, match="computed outside of it"):
            rg.jit(function)(rg.tensor(X))


def test_a_branch_cannot_write_what_has_a_gradient_to_a_tensor_from_outside():
    state = rg.tensor(X.copy())
    write = lambda x: rg.cond(x.sum() > -99, lambda: (state[0].copy_(x[1]), x.sum())[1], lambda: x.sum()) + state.sum()
    with pytest.raises(TraceError, match="return it instead"):
        rg.jit(rg.grad(write))(rg.tensor(X))
    assert rg.jit(write)(rg.tensor(X)).item() == pytest.approx(X.sum() + np.delete(X, 0, 0).sum() + X[1].sum())


def test_a_branch_in_vmap_cannot_write_to_what_was_there_before():
    def function(x):
        y = x * 2
        rg.cond(x.sum() > 0, lambda: y[0].fill_(0).sum(), lambda: y.sum())
        return y

    for run in (lambda f: f, rg.jit):
        with pytest.raises(TraceError, match="cannot write"):
            run(rg.vmap(function))(np.stack([X, -X]))


#: Values, and what whose order in memory decides whether it shows theirs.
RESHAPED = {
    "transposed": (lambda x: x.T * 1, lambda y: y.reshape(-1)), "rows": (lambda x: x * 1, lambda y: y.reshape(-1)),
    "in two": (lambda x: x.T + 1, lambda y: y.reshape(2, -1)), "back again": (lambda x: x.T * 1, lambda y: y.T.reshape(-1)),
    "flipped before": (lambda x: rg.flip(x, 0) * 1, lambda y: y.reshape(-1)),
    "flipped after": (lambda x: x * 1, lambda y: rg.flip(y, 0).reshape(-1)),
    "expanded": (lambda x: rg.broadcast_to(x[:, None], (4, 2, 5)) * 1, lambda y: y.reshape(-1)),
    "with rows": (lambda x: x.T + rg.zeros((5, 4), dtype=rg.float64), lambda y: y.reshape(-1)),
    "function": (lambda x: rg.sin(x.T), lambda y: y.reshape(-1)), "flat": (lambda x: x.T * 1, rg.flatten),
    "swapped": (lambda x: x.reshape(2, 2, 5).swapaxes(0, 2) * 2, lambda y: y.reshape(-1)),
    "squeezed": (lambda x: x.T * 1, lambda y: rg.squeeze(y[:, None], 1).reshape(-1)),
    "chosen": (lambda x: rg.where(x.T > 0, x.T, 1.0), lambda y: y.reshape(-1)),
    "product": (lambda x: x.T @ x, lambda y: y.reshape(-1)), "product's other order": (lambda x: x.T @ x, lambda y: y.T.reshape(-1)),
    "converted": (lambda x: rg.astype(x.T, rg.float32), lambda y: y.reshape(-1)),
    "clipped on one side": (lambda x: rg.clip(x.T, None, 1), lambda y: y.reshape(-1)),
    "copied": (lambda x: (x.T * 1).contiguous(), lambda y: y.reshape(-1)),
    "running sum": (lambda x: rg.cumsum(x.T * 1, 0), lambda y: y.reshape(-1)),
    "detached": (lambda x: x.T * 1, lambda y: y.detach().reshape(-1)),
    "made of what is detached": (lambda x: (x.T * 1).detach() * 2, lambda y: y.reshape(-1)),
    "detached in rows": (lambda x: x * 1, lambda y: y.detach().reshape(-1)),
}


@pytest.mark.parametrize("transform", [rg.jit, lambda f: lambda x: [z[0] for z in rg.vmap(f)(x[None])]])
@pytest.mark.parametrize("is_written_before", [False, True])
@pytest.mark.parametrize("name", RESHAPED)
def test_a_reshape_shows_memory_in_every_mode_where_it_does_in_eager_mode(name, is_written_before, transform):
    computed, reshaped = RESHAPED[name]

    def written(x):
        y = computed(x)
        if is_written_before:
            y[...] = y * 2
        view = reshaped(y)
        view[1] = 50.0
        return y, view * 1.0

    for found, expected in zip(transform(written)(rg.tensor(X)), written(rg.tensor(X)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def lazily(function):
    def computed(x):
        with rg.lazy():
            found = function(x)
        rg.realize(*found)
        return found

    return computed


@pytest.mark.parametrize("transform", [rg.jit, lazily, lambda f: lambda x: [z[0] for z in rg.vmap(f)(x[None])]])
@pytest.mark.parametrize("is_detached", [False, True])
@pytest.mark.parametrize("write", [
    lambda base, element: base.fill_(7), lambda base, element: base[::-1].fill_(7), lambda base, element: element.fill_(7),
    lambda base, element: (base.fill_(7), element.fill_(8)), lambda base, element: (element.fill_(8), base.fill_(7))])
def test_an_element_alone_is_a_copy_in_every_mode(transform, is_detached, write):
    def function(x):
        base = x * 1
        element = (base.detach() if is_detached else base)[-1]
        write(base, element)
        return element * 1, base * 1

    for found, wanted in zip(transform(function)(rg.tensor(X[0])), function(rg.tensor(X[0])), strict=True):
        np.testing.assert_array_equal(found, wanted)


ROWS, COLUMNS = np.arange(12.0).reshape(3, 4), np.asfortranarray(np.arange(12.0).reshape(3, 4))


def test_what_a_reshape_shows_follows_the_order_in_memory_that_an_argument_has_at_each_call():
    def written(x, y):
        z = x + y
        z.reshape(-1)[::2] = 0.5
        return z

    compiled = rg.jit(written)
    for given in ((ROWS, ROWS), (COLUMNS, COLUMNS), (ROWS, COLUMNS), (ROWS, ROWS), (COLUMNS, ROWS)):
        np.testing.assert_array_equal(compiled(*map(rg.asarray, given)), written(*map(rg.asarray, given)))


@pytest.mark.parametrize("first", [ROWS, COLUMNS])
@pytest.mark.parametrize("is_whole", [False, True])
def test_what_a_reshape_shows_follows_the_order_in_memory_that_a_tensor_from_outside_has_at_each_call(first, is_whole):
    weight = rg.asarray(first.copy(order="K"))

    def written(x):
        if is_whole:
            weight.T.reshape(-1)[0] = 7.0
            return weight * x
        z = weight * x
        z.reshape(-1)[::2] = 0.5
        return z

    compiled = rg.jit(written)
    for now in (first, ROWS, COLUMNS, ROWS):
        weight.data = now.copy(order="K")
        wanted = written(rg.tensor(2.0))
        weight.data = now.copy(order="K")
        np.testing.assert_array_equal(compiled(rg.tensor(2.0)), wanted)


def test_what_is_written_through_a_reshape_of_a_transposed_value_stays_in_the_copy():
    def written(x):
        y = x.T * 1
        y.reshape(-1)[0] = 50.0
        return y

    np.testing.assert_array_equal(rg.jit(written)(rg.tensor(X)), X.T)


def test_writing_through_a_reshape_of_what_lies_in_an_order_that_is_not_known_is_an_error():
    def written(x):
        y = rg.sort(x.T, axis=0)
        y.reshape(-1)[0] = 50.0
        return y

    with pytest.raises(InplaceError, match="order in memory"):
        rg.jit(written)(rg.tensor(X))


def test_what_repeats_a_leaf_may_be_written_to_in_a_compiled_gradient():
    def loss(x):
        wide = rg.tile(x, (1, 2))
        wide[:, ::3] *= 2
        return (wide * wide).sum()

    x = np.array([[0.6, 0.2]])
    np.testing.assert_allclose(rg.jit(rg.grad(loss))(x), rg.grad(loss)(x))


def test_a_row_made_by_any_op_may_be_reshaped_and_written_to():
    def program(x):
        row = rg.median(x, axis=1) * 1
        row.reshape(2, 2)[0] = 9
        return row

    x = rg.tensor([[3.0, 1.0, 2.0], [5.0, 4.0, 6.0], [7.0, 9.0, 8.0], [1.0, 0.0, 2.0]])
    assert rg.jit(program)(x).tolist() == program(x).tolist() == [9, 9, 8, 1]


def _masked(x):
    y = x.T * 1
    y[x > 0] = 0.5
    z = y * 1
    z.reshape(-1)[::2] = 7.0
    return z


def _added(x):
    y = x.T * 1
    y += x
    z = y * 1
    z.T.reshape(-1)[::2] = 7.0
    return z


def _filled(x):
    y = x.T * 1
    y.fill_(2)
    z = y * 1
    z.T.reshape(-1)[::2] = 7.0
    return z


def _overwritten(x):
    y, z = x.T * 1, x + 1
    y[...] = z
    y.T.reshape(-1)[::2] = 7.0
    return y, z


def _transposed(x):
    y = x.T * 1
    y.T.reshape(-1)[0] = 7.0
    return y


@pytest.mark.parametrize("function", [_masked, _added, _filled, _overwritten, _transposed])
def test_what_was_written_in_place_lies_in_the_order_that_it_had(function):
    # Whether the reshape is a view, or a copy that is written to in vain, is decided by that order.
    x = np.array([[-1.0, 0.9], [0.2, 0.7]])
    wanted = [np.asarray(z) for z in rg.tree.leaves(function(rg.tensor(x)))]

    def lazily(x):
        with rg.lazy():
            return function(x)

    for run in (lazily, rg.jit(function), lambda x: rg.tree.map(lambda z: z[0], rg.vmap(function)(x[None]))):
        for found, eager in zip(rg.tree.leaves(run(rg.tensor(x))), wanted, strict=True):
            np.testing.assert_array_equal(np.asarray(found), eager)


#: How eager ops copy where they reshape what lies in another order, or do not; and views of what they gave.
COPIES = {"flipped": lambda x: rg.flip(x, axis=0).reshape(-1), "transposed": lambda x: x.T.reshape(-1), "in order": lambda x: x.reshape(-1)}
VIEWS = {"detached": lambda x: x.detach(), "part": lambda x: x[2:8], "reshaped": lambda x: x.reshape(2, 6),
         "copied again": lambda x: x.reshape(2, 6).T.reshape(-1)[1:], "part of detached": lambda x: x[1:].detach()[::2]}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("second", [None, 0, 1, 2])
@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("copy", COPIES)
def test_views_of_a_copy_and_the_copy_show_the_same_writes(copy, view, first, second):
    def function(x):
        base = x * 2
        copied = COPIES[copy](base)
        tensors = base, copied, VIEWS[view](copied)
        tensors[first][...] = -5.0
        if second is not None:
            tensors[second][...] = tensors[second] * 3 + 1
        return tuple(t * 1 for t in tensors)

    x = rg.tensor(np.arange(12.0).reshape(3, 4))
    for found, wanted in zip(rg.jit(function)(x), function(x), strict=True):
        np.testing.assert_array_equal(found.numpy(), wanted.numpy())


@pytest.mark.parametrize("view", [lambda v: v[::-1], lambda v: rg.flip(v, 0), lambda v: v.reshape(-1, 1)])
def test_a_view_that_the_body_of_a_scan_gives_has_the_derivative_of_what_is_written_to_its_base(view):
    def body(carry, row):
        base = rg.sin(row) * 1
        shown = view(base)
        base *= 3
        return carry, shown

    def function(x):
        return (rg.scan(body, x.sum() * 0, x)[1] ** 2).sum()

    np.testing.assert_allclose(rg.jit(rg.grad(function))(X), 18 * np.sin(X) * np.cos(X), rtol=1e-5)

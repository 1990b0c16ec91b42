"""scan: eager it is a loop in Python, compiled it is one body that is repeated; values and derivatives are the same."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, DTypeError, ShapeError, TraceError

RNG = np.random.default_rng(0)
WEIGHT, BIAS, ROWS, START = (RNG.standard_normal(shape) * 0.4 for shape in [(4, 4), (4,), (7, 3, 4), (3, 4)])
OPTIONS = [{}, {"reverse": True}, {"checkpoint": True}, {"checkpoint": 3, "reverse": True}]


def network(weight, bias, rows, start, **options):
    """A number that depends on all that goes through a recurrence."""
    def step(h, x):
        h = rg.tanh(h @ weight + bias + x)
        return h, h * 2

    last, outputs = rg.scan(step, start, rows, **options)
    return (last**2).sum() + (outputs**3).sum()


def unrolled(weight, bias, rows, start, reverse=False, checkpoint=False):
    """What `network` computes, written out."""
    h, outputs = start, []
    for x in rows[::-1] if reverse else rows:
        h = rg.tanh(h @ weight + bias + x)
        outputs.append(h * 2)
    return (h**2).sum() + sum([(y**3).sum() for y in outputs])


def twice(function):
    """The gradient of the sum of squares of the gradient of a function of four arrays."""
    places = (0, 1, 2, 3)
    return rg.grad(lambda *args: sum([(g**2).sum() for g in rg.grad(function, places)(*args)]), places)


def agree(function, other, *args, rtol=1e-10):
    for ours, theirs in zip(rg.tree.leaves(function(*args)), rg.tree.leaves(other(*args)), strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=rtol, atol=1e-12)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit], ids=["eager", "jit"])
def test_value_and_two_orders_of_derivative_are_those_of_the_loop_written_out(options, compiled):
    args = WEIGHT, BIAS, ROWS, START
    ours, theirs = (lambda *a, f=f: f(*a, **options) for f in (network, unrolled))
    agree(compiled(ours), theirs, *args)
    agree(compiled(rg.grad(ours, (0, 1, 2, 3))), rg.grad(theirs, (0, 1, 2, 3)), *args)
    agree(compiled(twice(ours)), twice(theirs), *args, rtol=1e-9)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_the_second_derivative_may_be_in_something_else_than_the_first(checkpoint):
    def f(weight, start, rows):
        step = lambda c, x: (rg.sin(c * x[0] * weight) + x[1] * x[0], c * x[0])
        return (rg.scan(step, start, rows, checkpoint=checkpoint)[1] ** 2).sum()

    places = (0, 1, 2)
    for first in places:
        mixed = rg.grad(lambda *a, first=first: (rg.grad(f, first)(*a) ** 2).sum(), [p for p in places if p != first])
        agree(rg.jit(mixed), mixed, np.array(0.7), np.array(0.3), ROWS[:, 0, :2])


def test_a_third_derivative_compiles_too():
    function = lambda x: rg.scan(lambda c, y: (rg.sin(c * y), c), x, np.array([0.5, 2.0, 1.5]))[0]
    third = rg.grad(rg.grad(rg.grad(function)))
    np.testing.assert_allclose(rg.jit(third)(np.array(0.7)), third(np.array(0.7)), rtol=1e-10)


def test_backward_in_a_compiled_step_reaches_tensors_from_outside():
    weight, start = (rg.tensor(a, requires_grad=True) for a in (WEIGHT, START))
    loss_of = lambda rows: network(weight, rg.tensor(BIAS), rows, start)
    loss_of(rg.tensor(ROWS)).backward()
    expected = [t.grad.numpy() for t in (weight, start)]
    weight.grad = start.grad = None

    @rg.jit
    def step(rows):
        loss = loss_of(rows)
        loss.backward()
        return loss

    step(rg.tensor(ROWS))
    for t, array in zip((weight, start), expected, strict=True):
        np.testing.assert_allclose(t.grad.numpy(), array, rtol=1e-10)


def test_the_body_is_traced_once_however_many_steps_there_are():
    calls = []

    def step(c, x):
        calls.append(1)
        return c * x, c

    f = rg.jit(rg.grad(lambda x: rg.scan(step, x, np.full(1000, 0.999))[0]))
    assert abs(f(np.array(2.0)) - 0.999**1000) < 1e-12
    assert len(calls) == 1
    assert len(f.explain().kernels) < 10


def test_a_weight_gradient_is_one_product_of_all_steps():
    f = rg.jit(rg.grad(lambda w: network(w, BIAS, ROWS, START)))
    f(WEIGHT)
    assert any(kernel.kind == "matmul" and kernel.domain == (4, 4, 7 * 3) for kernel in f.explain().kernels)


@pytest.mark.parametrize("of", ["weights on the right", "weights on the left", "vectors", "a part of them"])
def test_gradients_of_weights_are_right_however_they_are_used(of):
    steps = {
        "weights on the right": lambda w: lambda h, x: (rg.tanh(h @ w + x), None),
        "weights on the left": lambda w: lambda h, x: (rg.tanh((w @ h.T).T + x), None),
        "vectors": lambda w: lambda h, x: (rg.tanh((h[0] @ w + w @ x[0]) + x), None),
        "a part of them": lambda w: lambda h, x: (rg.tanh(h * w[0] + x * w[1] - rg.linalg.norm(w)), None),
    }
    f = lambda w: (rg.scan(steps[of](w), START, ROWS)[0] ** 2).sum()
    agree(rg.jit(rg.grad(f)), rg.grad(f), WEIGHT)


def test_trees_are_carried_and_stacked():
    def step(carry, x):
        return {"a": carry["b"], "b": (carry["a"] + x["u"]).astype(carry["b"].dtype)}, (carry["a"], None, [x["v"], 3.0 * carry["b"]])

    f = lambda x: rg.scan(step, {"a": x, "b": x * 2}, {"u": ROWS[:, 0], "v": ROWS[:, 1]})
    agree(rg.jit(f), f, BIAS)
    carry, (first, nothing, (second, third)) = f(BIAS)
    assert nothing is None
    assert list(carry) == ["a", "b"]
    assert first.shape == second.shape == third.shape == (7, 4)


def test_what_does_not_change_or_is_handed_through_is_carried_as_well():
    f = lambda x, rows: rg.scan(lambda c, r: ((c[1], c[0], x), (r, c[0], x * 2)), (x, x + 1, x - 1), rows)
    agree(rg.jit(f), f, BIAS, ROWS[:, 0])
    agree(rg.jit(rg.grad(lambda x, r: sum([(y**2).sum() for y in rg.tree.leaves(f(x, r))]), (0, 1))),
          rg.grad(lambda x, r: sum([(y**2).sum() for y in rg.tree.leaves(f(x, r))]), (0, 1)), BIAS, ROWS[:, 0])


def test_integers_are_carried_and_can_be_positions():
    def f(weight, x):
        def step(carry, _):
            i, total = carry
            return (i + 1, total + weight[i] * x), weight[i]
        (count, total), rows = rg.scan(step, (0, x), None, length=4)
        return (total**2).sum() + (rows**3).sum() + 0.0 * count

    agree(rg.jit(f), f, WEIGHT, BIAS)
    agree(rg.jit(rg.grad(f, (0, 1))), rg.grad(f, (0, 1)), WEIGHT, BIAS)


def test_loops_within_loops():
    def f(weight, rows, start):
        inner = lambda x: lambda c, y: (rg.sin(c @ weight + y * x), c.sum())
        outer = lambda h, x: rg.scan(inner(x), h, rg.stack([x, x * 2, x * 3]))
        h, sums = rg.scan(outer, start, rows)
        return (h * h).sum() + (sums**2).sum()

    agree(rg.jit(f), f, WEIGHT, ROWS, START)
    agree(rg.jit(rg.grad(f, (0, 1, 2))), rg.grad(f, (0, 1, 2)), WEIGHT, ROWS, START)


def test_random_numbers_are_the_same_and_go_on_after_the_loop():
    def f(x):
        last, drawn = rg.scan(lambda c, y: (rg.dropout(rg.tanh(c + y), 0.5), rg.rand(2)), x, ROWS[:, 0])
        return last, drawn, rg.rand(3)

    rg.manual_seed(3)
    eager = rg.tree.leaves(f(BIAS))
    for _ in range(2):
        rg.manual_seed(3)
        for ours, theirs in zip(rg.tree.leaves(rg.jit(f)(BIAS)), eager, strict=True):
            np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-6)


def test_what_has_no_machine_code_runs_all_the_same():
    f = lambda x: (rg.scan(lambda c, y: (rg.sort(rg.sin(c + y)), c.sum()), x, ROWS[:, 0])[0] ** 2).sum()
    agree(rg.jit(f), f, BIAS)
    agree(rg.jit(rg.grad(f)), rg.grad(f), BIAS)


@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit], ids=["eager", "jit"])
def test_no_steps_give_the_start_and_empty_stacks(compiled):
    last, stacked = compiled(lambda x, rows: rg.scan(lambda c, y: (c + y, c * 2), x, rows))(BIAS, np.zeros((0, 4)))
    assert np.array_equal(last, BIAS)
    assert stacked.shape == (0, 4)


def test_lazy_values_go_through_a_scan():
    x = rg.tensor(BIAS)
    with rg.lazy():
        last, _ = rg.scan(lambda c, y: (rg.sin(c + y), None), x, rg.tensor(ROWS[:, 0]))
    np.testing.assert_allclose(last.numpy(), rg.scan(lambda c, y: (rg.sin(c + y), None), BIAS, ROWS[:, 0])[0], rtol=1e-12)


def test_checkpoints_shrink_what_is_kept():
    rows = np.zeros((400, 8, 64))

    def kept(checkpoint):
        f = rg.jit(rg.grad(lambda x: rg.scan(lambda c, y: (rg.sin(rg.exp(rg.cos(c + y))), None), x, rows, checkpoint=checkpoint)[0].sum()))
        f(np.zeros((8, 64)))
        return f.explain().arena_bytes

    whole, root, segments = kept(False), kept(True), kept(50)
    assert whole > 400 * 8 * 64 * 8
    assert root < whole / 5
    assert segments < whole / 3


def test_what_is_wrong_is_named():
    with pytest.raises(ShapeError, match=r"carry\['h'\]\[1\] was \(4,\) and became \(3, 4\)"):
        rg.scan(lambda c, x: ({"h": [c["h"][0], c["h"][1] + x]}, None), {"h": [BIAS, BIAS]}, ROWS)
    with pytest.raises(DTypeError, match=r"carry was int64 and became float64"):
        rg.scan(lambda c, x: (c + x, None), np.arange(4), ROWS[:, 0])
    with pytest.raises(ShapeError, match="structure"):
        rg.scan(lambda c, x: ((c, c), None), BIAS, ROWS)
    with pytest.raises(ArgumentError, match=r"\(carry, y\)"):
        rg.scan(lambda c, x: c, BIAS, ROWS)
    with pytest.raises(ShapeError, match="one length"):
        rg.scan(lambda c, x: (c, None), BIAS, (ROWS, ROWS[:3]))
    with pytest.raises(ShapeError, match="length=3"):
        rg.scan(lambda c, x: (c, None), BIAS, ROWS, length=3)
    with pytest.raises(ArgumentError, match="length="):
        rg.scan(lambda c, x: (c, None), BIAS)
    with pytest.raises(ArgumentError, match="checkpoint"):
        rg.scan(lambda c, x: (c, None), BIAS, ROWS, checkpoint=-1)


def test_errors_are_the_same_under_jit():
    with pytest.raises(ShapeError, match=r"carry was \(4,\) and became \(3, 4\)"):
        rg.jit(lambda c: rg.scan(lambda c, x: (c + x, None), c, ROWS))(BIAS)
    with pytest.raises(ArgumentError, match=r"\(carry, y\)"):
        rg.jit(lambda c: rg.scan(lambda c, x: c, c, ROWS))(BIAS)
    with pytest.raises(TraceError, match=r"rg\.where"):
        rg.jit(lambda c: rg.scan(lambda c, x: (c if c.sum() > 0 else -c, None), c, ROWS))(BIAS)


def test_backward_within_a_body_is_refused_and_grad_is_not():
    weight = rg.tensor(BIAS, requires_grad=True)

    def step(c, x):
        (weight * c * x).sum().backward()
        return c, None

    with pytest.raises(TraceError, match=r"rg\.grad"):
        rg.jit(lambda c: rg.scan(step, c, ROWS[:, 0]))(BIAS)
    descent = lambda c: rg.scan(lambda c, x: (c - 0.1 * rg.grad(lambda c: ((c - x) ** 2).sum())(c), None), c, ROWS[:, 0])[0]
    agree(rg.jit(descent), descent, BIAS)
    agree(rg.jit(rg.grad(lambda c: descent(c).sum())), rg.grad(lambda c: descent(c).sum()), BIAS)


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.float32, rg.float64])
def test_a_carry_that_starts_as_a_number_takes_the_type_of_the_rows(dtype):
    kept = lambda rows: rg.scan(lambda c, x: (c + x, c), 0.0, rows)[1]
    assert kept(rg.ones(3, dtype=dtype)).dtype == rg.jit(kept)(rg.ones(3, dtype=dtype)).dtype == dtype

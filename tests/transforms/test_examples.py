"""Loops of examples: under jit, a loop in a vmap is one loop for all examples, and gives what each of them gives alone."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import GraphError, ShapeError, TraceError

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

RNG = np.random.default_rng(0)
COUNT = 3
X, ROWS = RNG.uniform(-1, 1, (COUNT, 2)), RNG.uniform(-1, 1, (COUNT, 4, 2))
WEIGHT = RNG.uniform(-1, 1, (2, 2))
WEIGHT_TENSOR = rg.tensor(WEIGHT)


def network(x, rows, w, **options):
    last, kept = rg.scan(lambda c, v: (rg.tanh(c @ w + v), (c * v).sum()), x, rows, **options)
    return (last**2).sum() + (kept**2).sum()


def starts_alike(x, rows, w):
    """What is carried does not differ between examples at first, and one part of it never does."""
    step = lambda c, v: ((c[0] * 0.5 + v * x, c[1] + 1, c[2] @ w, 2 * c[2].sum()), c[1] * c[0])
    (first, count, *others), kept = rg.scan(step, (np.zeros(2), 0, np.ones(2), 0.0), rows)
    return sum([(y**2).sum() for y in (first, *others, kept)]) * count


def of_trees(x, rows, w):
    def step(carry, row):
        return {"a": carry["b"], "b": carry["a"] + row["u"] * w[0]}, (carry["a"] * row["v"], None)

    carry, (kept, _) = rg.scan(step, {"a": x, "b": x * 2}, {"u": rows, "v": np.arange(4.0)})
    return carry["a"].sum() + (carry["b"] * kept).sum()


def positions(x, rows, w):
    """Integers are carried, and say what is read."""
    step = lambda c, _: ((c[0] + 1, c[1] * w[c[0] % 2].sum() + rows[c[0]].sum()), x[c[0] % 2])
    (count, total), kept = rg.scan(step, (0, x.sum()), None, length=4)
    return total**2 + (kept**3).sum() + 0.0 * count


def nested(x, rows, w):
    inner = lambda c, v: rg.scan(lambda d, k: (rg.sin(d @ w + v * k), d.sum() * x[0]), c, np.array([1.0, 2.0]))
    last, kept = rg.scan(inner, x, rows)
    return last.sum() + (kept**2).sum()


def branching(x, rows, w):
    choose = lambda c, v: rg.cond(v.sum() > 0, lambda: rg.sin(c @ w), lambda: c * v)
    alike = lambda c, v: rg.cond(w[0, 0] > 0, lambda: c * v, lambda: rg.cos(c + w[0]))
    return rg.scan(lambda c, v: (choose(c, v) + alike(c, v), None), x, rows)[0].sum()


def reading(x, rows, w):
    """The gradient is taken in the body."""
    slope = rg.grad(lambda c, v: (rg.sin(c @ w) * v).sum())
    return (rg.scan(lambda c, v: (c - 0.3 * slope(c, v), None), x, rows)[0] ** 2).sum()


FUNCTIONS = {
    "scan": network,
    "scan in reverse": lambda *a: network(*a, reverse=True),
    "scan with checkpoints": lambda *a: network(*a, checkpoint=True),
    "scan with segments in reverse": lambda *a: network(*a, checkpoint=3, reverse=True),
    "scan that starts alike": starts_alike,
    "scan of trees": of_trees,
    "scan with positions": positions,
    "scan of no steps": lambda x, rows, w: network(x, rows[:0], w),
    "scan of what is the same for all": lambda x, rows, w: (rg.scan(lambda c, v: (c @ w, c), np.ones(2), None, 3)[0] * x).sum(),
    "scan whose rows are the same for all": lambda x, rows, w: network(x, w, w),
    "scan within a scan": nested,
    "scan with branches": branching,
    "scan with a gradient in it": reading,
    "scan in a checkpoint": lambda x, rows, w: rg.checkpoint(network, x, rows, w),
    "fori_loop": lambda x, rows, w: (rg.fori_loop(1, 4, lambda i, c: rg.sin(c @ w) * i + rows[i], x) ** 2).sum(),
    "LSTM": lambda x, rows, w: (LSTM(rows)[0] ** 2).sum() + x.sum() + w.sum(),
}
LSTM = rg.nn.LSTM(2, 3, batch_first=True).double()


def stacked(rows):
    leaves = [rg.tree.leaves(rg.stop_gradient(row)) for row in rows]
    return [np.stack(list(map(np.asarray, column))) for column in zip(*leaves, strict=True)]


def agree(found, wanted, rtol=1e-8):
    for ours, theirs in zip(rg.tree.leaves(found), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(rg.stop_gradient(ours)), theirs, rtol=rtol, atol=1e-10)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_inside_are_those_of_each_example(name):
    function = rg.value_and_grad(FUNCTIONS[name], (0, 1, 2))
    wanted = stacked([function(x, rows, WEIGHT) for x, rows in zip(X, ROWS, strict=True)])
    for way in (rg.jit, lambda f: f):
        agree(way(rg.vmap(function, (0, 0, None)))(X, ROWS, WEIGHT), wanted)


@pytest.mark.parametrize("name", ["scan in reverse", "scan with checkpoints", "scan that starts alike", "scan of trees", "LSTM",
                                  "scan with positions", "scan within a scan", "scan with branches", "scan with a gradient in it"])
def test_gradients_from_outside_are_those_of_the_sum_over_examples(name):
    function, places = FUNCTIONS[name], (0, 1, 2)
    by_vmap = lambda *a: (rg.vmap(function, (0, 0, None))(*a) ** 2).sum()
    by_loop = lambda x, rows, w: sum([function(x[i], rows[i], w) ** 2 for i in range(COUNT)])
    agree(rg.jit(rg.grad(by_vmap, places))(X, ROWS, WEIGHT), rg.grad(by_loop, places)(X, ROWS, WEIGHT))


@pytest.mark.parametrize("name", ["scan with checkpoints", "scan that starts alike", "scan with branches"])
def test_second_derivatives_pass_through_from_inside_and_from_outside(name):
    function, places = FUNCTIONS[name], (0, 2)
    inside = rg.grad(lambda *a: sum([(g**2).sum() for g in rg.grad(function, (0, 1, 2))(*a)]), places)
    wanted = stacked([inside(x, rows, WEIGHT) for x, rows in zip(X, ROWS, strict=True)])
    agree(rg.jit(rg.vmap(inside, (0, 0, None)))(X, ROWS, WEIGHT), wanted)
    slope = rg.grad(function)
    by_vmap = lambda *a: (rg.vmap(slope, (0, 0, None))(*a) ** 2).sum()
    by_loop = lambda x, rows, w: sum([(slope(x[i], rows[i], w) ** 2).sum() for i in range(COUNT)])
    agree(rg.jit(rg.grad(by_vmap, places))(X, ROWS, WEIGHT), rg.grad(by_loop, places)(X, ROWS, WEIGHT))


@pytest.mark.parametrize("name", ["scan", "scan that starts alike", "scan within a scan", "scan with branches", "fori_loop"])
def test_vmaps_nest_around_loops(name):
    function = rg.grad(FUNCTIONS[name], (0, 2))
    found = rg.jit(rg.vmap(rg.vmap(function, (None, 0, None)), (0, None, None)))(X, ROWS, WEIGHT)
    agree(found, [np.stack(parts) for parts in zip(*[stacked([function(x, r, WEIGHT) for r in ROWS]) for x in X], strict=True)])


def test_jacobians_and_hessians_of_loops_are_those_of_each_example():
    kept = lambda x, rows: rg.scan(lambda c, v: (rg.sin(c * v), c), x, rows)[1]
    for function in (rg.jacobian(kept), rg.jacfwd(kept), rg.hessian(lambda x, rows: kept(x, rows).sum())):
        agree(rg.jit(rg.vmap(function))(X, ROWS), stacked([function(*pair) for pair in zip(X, ROWS, strict=True)]))


def test_a_long_loop_is_a_few_kernels():
    slope = rg.grad(lambda k: (rg.scan(lambda c, t: (c + 0.01 * rg.sin(k * c + t), None), k, np.arange(300.0))[0] ** 2).sum())
    step = rg.jit(rg.vmap(slope))
    agree(step(X), [rg.vmap(slope)(X)])
    kernels = step.explain().kernels
    assert sum([kernel.kind == "repeat" for kernel in kernels]) == 2
    assert len(kernels) < 10


def test_sums_over_turns_are_products_after_the_loop():
    step = rg.jit(rg.vmap(rg.grad(network, 2), (0, 0, None)))
    step(X, ROWS, WEIGHT)
    assert any([k.kind == "matmul" for k in step.explain().kernels])


def pulled(x, rows):
    """The rows of a Jacobian, by one walk for all of them through a loop that is outside of the vmap."""
    last = lambda x, rows: rg.scan(lambda c, v: (rg.sin(c * v) @ WEIGHT + 0.1 * rg.rand(2, dtype=rg.float64), None), x, rows)[0]
    chosen = lambda x, rows: rg.cond(x.sum() > -9, lambda: last(x, rows), lambda: x)
    return [rg.vmap(rg.vjp(function, x, rows)[1])(np.eye(2)) for function in (last, chosen)]


@pytest.mark.parametrize("derivative", [lambda f: f, lambda f: rg.grad(lambda *a: sum((g**2).sum() for g in f(*a)), argnums=(0, 1, 2))])
@pytest.mark.parametrize("body", [lambda c, v, w: (c * w, c.sum() * w), lambda c, v, w: (w + v * rg.sin(c), c @ w),
                                  lambda c, v, w: (rg.fori_loop(0, 2, lambda _, d: d * w * 0.3 + c, c), v * w)])
def test_sums_of_outer_products_read_what_an_iteration_is_handed(body, derivative):
    x, rows, w = (RNG.uniform(-1, 1, shape) for shape in ((COUNT, 1, 1), (COUNT, 4, 1, 1), (1, 1)))
    total = lambda x, rows, w: sum((y**2).sum() for y in rg.scan(lambda c, v: body(c, v, w), x, rows))
    slopes = derivative(rg.grad(total, argnums=(0, 1, 2)))
    found = rg.jit(rg.vmap(slopes, (0, 0, None)))(x, rows, w)
    for of_all, of_each in zip(found, zip(*[slopes(a, b, w) for a, b in zip(x, rows, strict=True)], strict=True), strict=True):
        np.testing.assert_allclose(of_all, np.stack(of_each), rtol=1e-10)


def test_pullbacks_of_loops_and_branches_walk_for_many_cotangents():
    slope = rg.grad(lambda *a: sum([(g**2).sum() for g in rg.tree.leaves(pulled(*a))]), (0, 1))
    for function in (pulled, slope, rg.vmap(pulled)):
        args, found = (X[:2], ROWS[:2, :2]) if function not in (pulled, slope) else (X[0], ROWS[0, :3]), []
        for way in (lambda f: f, rg.jit):
            with rg.ops.random.draws.preserved_state():
                found.append([np.asarray(g) for g in rg.tree.leaves(way(function)(*args))])
        agree(found[1], found[0])


def drawing(x, rows):
    def step(c, v):
        noise = rg.randn(2, dtype=rg.float64)
        inner = rg.fori_loop(0, 2, lambda _, d: d * rg.rand(2, dtype=rg.float64) + noise, c * noise)
        return rg.sin(inner + v), c.sum() * noise

    last, kept = rg.scan(step, x, rows)
    return (last**2).sum() + (kept**2).sum() + (x * rg.randn(2, dtype=rg.float64)).sum()


def test_draws_are_the_same_for_all_examples_and_go_on_after_the_loop():
    again = lambda *a: rg.cond(WEIGHT_TENSOR.sum() > -9, lambda: rg.checkpoint(drawing, *a), lambda: a[0].sum())
    for function in (drawing, rg.grad(drawing), rg.grad(again), rg.grad(lambda *a: (rg.grad(drawing)(*a) ** 2).sum())):
        found = []
        for way in (rg.vmap(function), rg.jit(rg.vmap(function))):
            with rg.ops.random.draws.preserved_state():
                rg.manual_seed(4)
                found.append([np.asarray(x) for x in (way(X, ROWS), way(X, ROWS), rg.rand(2))])
        agree(found[1], found[0])


def test_what_a_body_writes_to_outside_is_carried_along():
    def counted(x, rows):
        def step(c, v):
            count[...] = count + 1
            return rg.sin(c * count) + v, c * count

        before = x * count
        last, kept = rg.scan(step, x, rows)
        return (before * last).sum() + kept.sum() * count

    results = []
    for way in (lambda f: f, rg.jit):
        count = rg.tensor(0.5, dtype=rg.float64)
        results.append([np.asarray(way(rg.vmap(rg.grad(counted)))(X, ROWS)), count.numpy()])
    agree(results[1], results[0])


def test_a_derivative_reads_what_the_loop_read_even_if_that_was_written_to_since():
    def loss(x, rows):
        count[...] = count * 1.5
        last = rg.scan(lambda c, v: (rg.sin(c * v * count[0]), None), x, count)[0]
        count[...] = count * 7.0
        return (last * count).sum()

    found = []
    for function in (rg.vmap(rg.grad(loss)), lambda x, rows: rg.stack([rg.grad(loss)(row, rows[0]) for row in x[:1]])):
        count = rg.tensor([1.0, 2.0], dtype=rg.float64)
        found.append(np.asarray(rg.jit(function)(X, ROWS))[0])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10)


LOOPS = {
    "alike": lambda x, w: rg.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, rg.sin(s[1] @ w) + x), (0, np.ones(2)))[1],
    "apart": lambda x, w: rg.while_loop(lambda s: s[1].sum() < 9, lambda s: (s[0] + 1, s[1] + x**2 + s[0]), (0, x)),
    "that never run": lambda x, w: rg.while_loop(lambda s: s.sum() > 99, lambda s: s + 1, x),
    "within a scan": lambda x, w: rg.scan(
        lambda c, v: (rg.while_loop(lambda d: d.sum() < 3, lambda d: d + v + abs(x), c - 2), c), x, np.arange(4.0)),
    "to bounds that are values": lambda x, w: rg.fori_loop(w[0, 0].astype("int64"), 4, lambda i, c: c * x + i, x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_while_loops_run_as_long_as_each_example_wants(name):
    function = LOOPS[name]
    agree(rg.jit(rg.vmap(function, (0, None)))(X, WEIGHT), stacked([function(rg.tensor(x), rg.tensor(WEIGHT)) for x in X]))
    both = rg.vmap(rg.vmap(function, (0, None)), (None, 0))
    wanted = [stacked([function(rg.tensor(x), rg.tensor(w)) for x in X]) for w in (WEIGHT, -WEIGHT)]
    agree(rg.jit(both)(X, np.stack([WEIGHT, -WEIGHT])), [np.stack(parts) for parts in zip(*wanted, strict=True)])


def test_a_while_loop_whose_derivative_nobody_asks_for_is_no_error():
    def function(x):
        return (rg.stop_gradient(rg.while_loop(lambda c: c.sum() < 9, lambda c: c + x**2, x)) * x).sum()

    agree(rg.jit(rg.vmap(rg.grad(function)))(X), [np.stack([rg.grad(function)(x) for x in X])])
    with pytest.raises(GraphError, match=r"rg\.scan"):
        rg.jit(rg.vmap(rg.grad(lambda x: LOOPS["alike"](x, WEIGHT).sum())))(X)


def test_a_body_may_push_forward_and_make_tensors_of_its_own():
    def step(c, v):
        change = rg.jvp(lambda e: rg.sum(e * e * v), (v * c,), (v * 0 + 1,))[1]
        return c * 0.5 + change + rg.linearize(lambda e: rg.sum(rg.sin(e)), v * c)[1](v), c

    last = lambda rows: rg.scan(step, np.ones(()), rows)[0]
    for function in (last, rg.grad(last)):
        found = rg.jit(rg.vmap(function))(ROWS)
        np.testing.assert_allclose(found, np.stack([function(row) for row in ROWS]), rtol=1e-10)


def test_a_body_that_writes_to_another_tensor_each_time_that_it_is_traced_is_refused():
    tensors = iter([rg.tensor(np.zeros(2)) for _ in range(200)])

    def writing(c, v):
        tensor = next(tensors)
        tensor += v
        return c + tensor.sum(), None

    with pytest.raises(TraceError, match="is another tensor each time"):
        rg.jit(lambda rows: rg.scan(writing, np.zeros(()), rows)[0])(ROWS[0])


def test_errors_in_bodies_are_those_of_one_example():
    with pytest.raises(ShapeError, match=r"carry was \(2,\) and became \(\)"):
        rg.jit(rg.vmap(lambda x, rows: rg.scan(lambda c, v: ((c * v).sum(), None), x, rows)))(X, ROWS)


def test_results_are_arrays_or_tensors_as_they_are_without_jit():
    for kind in (np.array, rg.tensor):
        for function in (lambda x: rg.scan(lambda c, _: (c * 2, c), 1.0, None, 3), lambda x: rg.fori_loop(0, 3, lambda i, c: c * x, x)):
            found, wanted = (rg.tree.leaves(way(rg.vmap(function))(kind(X))) for way in (rg.jit, lambda f: f))
            assert [type(leaf) for leaf in found] == [type(leaf) for leaf in wanted]
            agree(found, [np.asarray(leaf) for leaf in wanted])


def test_derivative_of_a_branch_that_is_not_taken_does_not_reach_an_example():
    root = lambda x: rg.cond(x > 0, lambda x: np.sqrt(x), lambda x: x**2, x)
    x = np.array([0.25, -0.5])
    with np.errstate(invalid="ignore", divide="ignore"):
        for way in (lambda f: f, rg.jit):
            np.testing.assert_allclose(np.asarray(way(rg.vmap(rg.grad(root)))(x)), [1, -1])
            np.testing.assert_allclose(np.asarray(way(rg.grad(lambda x: rg.vmap(root)(x).sum()))(x)), [1, -1])
        halved = lambda x: rg.while_loop(lambda s: s > 0.5, lambda s: np.sqrt(s - 0.5), x)
        slopes = rg.vmap(rg.grad(halved))(np.array([2.0, 0.6, 0.3]))
    np.testing.assert_allclose(np.asarray(slopes), [rg.grad(halved)(v).item() for v in (2.0, 0.6, 0.3)])


def test_what_is_detached_under_vmap_is_a_constant_for_the_derivative_around_it():
    for constant in (rg.stop_gradient, lambda x: x.detach()):
        slope = rg.grad(lambda x: rg.vmap(lambda v: v * constant(v))(x).sum())
        for way in (lambda f: f, rg.jit):
            np.testing.assert_array_equal(np.asarray(way(slope)(rg.tensor([2.0, 3.0]))), [2, 3])


def test_number_read_within_vmap_is_read_anew_when_it_changes():
    outside, x = rg.tensor(2.0), np.ones(2)
    step = rg.jit(rg.vmap(lambda v: v * outside.item() + outside.detach().item()))
    for number in (2.0, 3.0):
        outside[...] = number
        np.testing.assert_array_equal(np.asarray(step(x)), [2 * number] * 2)

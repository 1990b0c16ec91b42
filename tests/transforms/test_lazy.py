"""Lazy values: what they give is what eager mode gives, computed together when it is read."""

import copy
import gc
import pickle
import weakref
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
import sweeping
from cube import Cube
from retrograde.compiler import backends
from retrograde.compiler.calls import pending
from retrograde.core import writes
from retrograde.errors import DTypeError
from retrograde.tensor.lazy import Lazy
from sweeping import every_case, has_derivative
from tiers import tiered
from together import in_threads

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("case", list(tiered(every_case(), key=lambda case: case.op.name)))
def test_a_lazy_op_and_its_gradient_are_the_eager_ones(case, monkeypatch):
    monkeypatch.setenv(backends.VARIABLE, "reference")
    for dtype in (np.dtype(np.float64), np.dtype(np.float32), rg.bfloat16):
        args, kwargs = case.drawn(dtype)
        with np.errstate(all="ignore"):
            _, expected = case.run(args, kwargs)
            with rg.lazy():
                _, found = case.run(args, kwargs)
            for a, b in zip(rg.realize(*found, None), [*map(rg.asarray, expected), None], strict=True):
                if b is not None:
                    assert (a.shape, a.dtype) == (b.shape, b.dtype)
                    assert sweeping.disagreement(np.asarray(a), np.asarray(b.detach()), dtype if dtype.itemsize > 2 else rg.bfloat16) <= 1
            if has_derivative(case.op) and dtype.itemsize > 2:
                wanted = sweeping.gradients(case, args, kwargs)
                with rg.lazy():
                    given = sweeping.gradients(case, args, kwargs)
                for a, b in zip(given, wanted, strict=True):
                    assert (a.grad is None) == (b.grad is None)
                    if b.grad is not None:
                        assert (a.grad.shape, a.grad.dtype) == (b.grad.shape, b.grad.dtype)
                        assert sweeping.disagreement(a.grad.numpy(), b.grad.numpy(), dtype) <= 1


@pytest.fixture(autouse=True)
def fresh_programs(monkeypatch):
    monkeypatch.setattr(pending, "_PROGRAMS", pending._Programs())


def built():
    return pending._PROGRAMS.built


def waits(*values):
    return all(value.__class__ is Lazy and value.holder.symbol.array is None for value in values)


def numbers(*shape):
    return RNG.standard_normal(shape)


READERS = {
    "float": (lambda y: float(y.sum()), lambda a: float(a.sum())),
    "int": (lambda y: int(y.sum()), lambda a: int(a.sum())),
    "complex": (lambda y: complex(y.sum()), lambda a: complex(a.sum())),
    "item": (lambda y: y.item(1, 2), lambda a: a.item(1, 2)),
    "tolist": (lambda y: y.tolist(), lambda a: a.tolist()),
    "numpy": (lambda y: y.numpy().tolist(), lambda a: a.tolist()),
    "asarray": (lambda y: np.asarray(y).tolist(), lambda a: a.tolist()),
    "bool": (lambda y: "greater" if y.sum() > 0 else "less", lambda a: "greater" if a.sum() > 0 else "less"),
    "contains": (lambda y: 7.5 in y, lambda a: 7.5 in a),
    "repr": (repr, lambda a: repr(rg.asarray(a))),
    "format": (lambda y: f"{y.sum():.3f}", lambda a: f"{a.sum():.3f}"),
    "data": (lambda y: np.asarray(y.data).tolist(), lambda a: a.tolist()),
    "iteration": (lambda y: [float(row.sum()) for row in y], lambda a: [float(row.sum()) for row in a]),
    "pickle": (lambda y: pickle.loads(pickle.dumps(y)).tolist(), lambda a: a.tolist()),
    "deepcopy": (lambda y: copy.deepcopy(y).tolist(), lambda a: a.tolist()),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("is_inside", [True, False], ids=["inside", "outside"])
def test_reading_a_value_computes_it(name, is_inside):
    read, plain = READERS[name]
    x = np.arange(6.0).reshape(2, 3) / 4
    with rg.lazy():
        y = rg.asarray(x) * 2 - 1
        assert waits(y)
        if is_inside:
            assert read(y) == plain(x * 2 - 1)
    if not is_inside:
        assert read(y) == plain(x * 2 - 1)


def test_shape_and_dtype_are_known_without_computing_anything():
    with rg.lazy():
        y = (rg.ones(4, 3) @ rg.ones(3, 2)).astype(rg.float64).T
    assert (y.shape, y.dtype, y.ndim, y.size, y.itemsize, y.nbytes, y.device, len(y)) == ((2, 4), rg.float64, 2, 8, 8, 64, "cpu", 2)
    assert y.base.__class__ is Lazy
    assert waits(y.base)


def test_once_computed_a_value_is_an_ordinary_tensor_with_memory_of_its_own():
    x = rg.tensor(numbers(3))
    with rg.lazy():
        y, z = x * 2, x * 2
    rg.realize(y, z)
    assert type(y) is type(z) is rg.Tensor
    assert not np.shares_memory(y.data, z.data)
    y += 1
    np.testing.assert_array_equal(z.numpy(), x.numpy() * 2)


def test_an_op_outside_the_block_computes_its_operands_and_runs_at_once():
    with rg.lazy():
        x = rg.ones(3) * 2
    y = x + 1
    assert type(y) is type(x) is rg.Tensor
    assert y.tolist() == [3.0, 3.0, 3.0]


def test_only_what_is_needed_is_computed():
    with rg.lazy():
        x = rg.ones(3) * 2
        y = rg.sin(x)
        z = rg.cos(x)
    y.realize()
    assert not waits(x)  # on the way, and somebody holds it
    assert waits(z)


def test_what_somebody_holds_is_not_computed_twice():
    with rg.lazy():
        h, lengths = rg.ones(5), []
        for _ in range(6):
            h = rg.tanh(h * 1.1)
            lengths.append(float((h * h).sum()))
    assert built() <= 2  # each step starts from the last, so that all are alike


def test_graphs_of_one_structure_are_compiled_once():
    for scale in range(1, 5):
        with rg.lazy():
            x = rg.tensor(numbers(4) * scale)
            y = (rg.exp(x) * x).sum()
        assert float(y) == pytest.approx((np.exp(x.numpy()) * x.numpy()).sum(), rel=1e-6)
    assert built() == 1


STRUCTURES = [
    lambda x, y: x * 2.0,
    lambda x, y: x * 3.0,
    lambda x, y: x * 2,
    lambda x, y: x * True,
    lambda x, y: x * y,
    lambda x, y: x * x,
    lambda x, y: (x * 2.0).sum(axis=0),
    lambda x, y: (x * 2.0).sum(axis=0, keepdims=True),
    lambda x, y: x * np.float32(2),
    lambda x, y: x * np.float64(2),
    lambda x, y: x[:2],
    lambda x, y: (x + 0)[:2],
    lambda x, y: (x + 0)[1:],
    lambda x, y: rg.concatenate([x, y]),
    lambda x, y: rg.concatenate([y, x]) * 1.5,
]


def test_graphs_of_different_structure_are_told_apart():
    x, y = rg.tensor(numbers(3)), rg.tensor(numbers(3))
    for function in STRUCTURES:
        for _ in range(2):
            with rg.lazy():
                found = function(x, y)
            expected = function(x, y)
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-12)


def test_leaves_of_another_shape_or_dtype_are_another_structure():
    for x in (numbers(3), numbers(4), numbers(3).astype(np.float32), np.arange(3), numbers(3, 1)):
        with rg.lazy():
            y = rg.tensor(x) * 2
        np.testing.assert_allclose(y.numpy(), x * 2, rtol=1e-6)
    assert built() == 5


@pytest.mark.usefixtures("young_heap")
def test_programs_that_are_kept_are_bounded_in_number_and_keep_no_arrays(monkeypatch):
    monkeypatch.setattr(pending._Programs, "most", 3)
    data = numbers(2000)
    for n in range(6):
        with rg.lazy():
            y = rg.asarray(data) * float(n)
        y.realize()
    assert (built(), len(pending._PROGRAMS._found)) == (6, 3)
    reference = weakref.ref(data)
    del data, y
    gc.collect()
    assert reference() is None


def test_leaves_are_read_and_not_copied():
    x = rg.tensor(numbers(50, 50))
    with rg.lazy():
        y = x * 2
        z = x.T + 1
    leaves = [node for node in pending.ordered([y.holder.symbol, z.holder.symbol]) if node.op is None]
    assert [leaf.array is x.data for leaf in leaves] == [True]
    np.testing.assert_array_equal(z.numpy(), x.numpy().T + 1)


# Writing.

def test_writing_to_a_tensor_leaves_what_was_built_on_it_before_as_it_was():
    x = rg.tensor([1.0, 2.0, 3.0])
    with rg.lazy():
        before = x * 10
        x[0] = 5.0
        between = x * 10
        x += 1
        after = x * 10
    assert type(x) is rg.Tensor
    x.zero_()
    assert (before.tolist(), between.tolist(), after.tolist()) == ([10, 20, 30], [50, 20, 30], [60, 30, 40])


def test_writing_through_a_view_or_an_array_that_shares_memory_is_noticed():
    x = rg.tensor([1.0, 2.0, 3.0, 4.0])
    with rg.lazy():
        y = x * 10
        x[1:3].zero_()
        z = x * 10
    assert y.tolist() == [10, 20, 30, 40]
    assert z.tolist() == [10, 0, 0, 40]


def test_an_optimizer_and_a_compiled_step_leave_waiting_values_as_they_were():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    x.grad = rg.ones(2)
    with rg.lazy():
        first = x * 10
    rg.optim.SGD([x], lr=1.0).step()
    with rg.lazy():
        second = x * 10

    @rg.jit
    def fill():
        with rg.no_grad():
            x[...] = x * 0 + 7

    fill()
    assert (first.tolist(), second.tolist(), x.tolist()) == ([10, 20], [0, 10], [7, 7])


def test_adding_to_a_gradient_leaves_waiting_values_as_they_were():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    with rg.lazy():
        norm = (x.grad * x.grad).sum()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]
    assert float(norm) == 18.0


def test_a_lazy_value_can_be_written_to_and_shows_it_to_all_that_share_its_memory():
    def run():
        x = rg.tensor(np.arange(6.0).reshape(2, 3))
        y = x * 2
        alias, view = y.detach(), None
        y += 1
        alias[0] = -1.0
        view = y.T
        doubled = view * 2
        view[2] = 100.0
        y[0, 0] = 50.0
        return [x, y, alias, view, doubled, view * 1, y.reshape(-1)[1:3]]

    with rg.lazy():
        found = run()
    for a, b in zip(found, run(), strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
    assert np.shares_memory(found[1].data, found[3].data)


def test_gradients_through_writes_are_the_eager_ones():
    def run():
        x = rg.tensor(np.arange(1.0, 7.0).reshape(2, 3), requires_grad=True)
        y = x * x
        y[0] = y[1] * 3
        z = rg.sin(y)
        z *= x
        z.T[1] = 0.5
        (z * z).sum().backward()
        return x.grad

    with rg.lazy():
        found = run()
    np.testing.assert_allclose(found.numpy(), run().numpy(), rtol=1e-12)


# Gradients.

def network(seed=2):
    rng = np.random.default_rng(seed)
    return [rg.tensor(rng.standard_normal(s) * 0.3, requires_grad=True) for s in [(5, 8), (8,), (8, 3), (3,)]]


def loss_of(parameters, x, labels):
    w, b, v, c = parameters
    return rg.nn.functional.cross_entropy(rg.tanh(x @ w + b) @ v + c, labels)


@pytest.mark.parametrize("where", ["inside", "outside", "after reading"])
def test_backward_of_a_lazy_loss_gives_the_eager_gradients(where):
    x, labels = numbers(6, 5), RNG.integers(0, 3, 6)
    eager, lazy = network(), network()
    expected = loss_of(eager, x, labels)
    expected.backward()
    with rg.lazy():
        loss = loss_of(lazy, x, labels)
        if where == "inside":
            loss.backward()
            assert waits(loss, *[p.grad for p in lazy])
    if where == "after reading":
        assert loss.item() == pytest.approx(expected.item())
    if where != "inside":
        loss.backward()
    programs = built()
    for a, b in zip(lazy, eager, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9)
    assert loss.item() == pytest.approx(expected.item())
    assert built() - programs == (where == "inside")  # all together
    assert built() <= 1


def test_a_training_loop_within_lazy_is_the_eager_one_and_compiles_once():
    eager, lazy = network(), network()
    batches = [(numbers(6, 5), RNG.integers(0, 3, 6)) for _ in range(5)]

    def train(parameters):
        optimizer, losses = rg.optim.Adam(parameters, lr=0.05), []
        rg.manual_seed(3)
        for x, labels in batches:
            optimizer.zero_grad()
            loss = loss_of(parameters, rg.nn.functional.dropout(rg.asarray(x), 0.3), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    expected = train(eager)
    with rg.lazy():
        found = train(lazy)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    for a, b in zip(lazy, eager, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9)
    assert built() == 1


def test_gradients_add_up_over_lazy_and_eager_passes():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.lazy():
        (x * 3).sum().backward()
        (x * x).sum().backward()
    (x * 10).sum().backward()
    with rg.lazy():
        x.sum().backward()
    assert x.grad.tolist() == [16.0, 18.0]


def test_a_graph_goes_through_the_border_of_the_block_in_both_directions():
    def function(x, is_lazy):
        y = rg.sin(x) * x
        with rg.lazy() if is_lazy else rg.enable_grad():
            z = rg.exp(y) * x
        return (z * z).sum()

    x = rg.tensor(numbers(4), requires_grad=True)
    y = rg.tensor(x.detach(), requires_grad=True)
    function(x, True).backward()
    function(y, False).backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-12)


def test_what_a_rule_would_read_and_was_written_over_is_an_error_as_in_eager_mode():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.lazy():
        y = x * 2
        loss = (y * y).sum()
    loss.realize()
    with rg.no_grad():
        y += 1
    with pytest.raises(rg.errors.InplaceError):
        loss.backward()


def test_a_graph_is_freed_by_backward_and_can_be_kept():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.lazy():
        y = (x * x).sum()
        y.backward(retain_graph=True)
        y.backward()
        with pytest.raises(rg.errors.FreedGraphError):
            y.backward()
    assert x.grad.tolist() == [4.0, 8.0]


def test_transforms_and_higher_orders_work_within_lazy():
    x = numbers(5)
    with rg.lazy():
        gradient = rg.grad(lambda t: (rg.sin(t) * t).sum())(rg.asarray(x))
        third = rg.grad(rg.grad(rg.grad(lambda t: t**4)))(rg.tensor(2.0))
        matrix = rg.hessian(lambda t: (t**3).sum())(rg.asarray(x))
        value, pulled = rg.value_and_grad(lambda t: (t * t).sum())(x)
    np.testing.assert_allclose(gradient.numpy(), np.cos(x) * x + np.sin(x), rtol=1e-6)
    assert float(third) == 48.0
    np.testing.assert_allclose(matrix.numpy(), np.diag(6 * x), rtol=1e-12)
    assert float(value) == pytest.approx((x * x).sum())
    np.testing.assert_allclose(np.asarray(pulled), 2 * x)


def test_functions_of_users_and_checkpoints_work_within_lazy():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    with rg.lazy():
        y = Cube.apply(x)
        z = rg.checkpoint(lambda t: rg.sin(t) * t, y)
        assert waits(y, z)
    z.sum().backward()
    inner = x.detach().numpy() ** 3
    np.testing.assert_allclose(x.grad.numpy(), (np.cos(inner) * inner + np.sin(inner)) * 3 * x.detach().numpy() ** 2, rtol=1e-5)


def test_hooks_see_gradients_within_lazy():
    x, seen = rg.tensor([1.0, 2.0], requires_grad=True), []
    with rg.lazy():
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda g: seen.append(g.tolist()))
        (y * y).sum().backward()
    assert seen == [[4.0, 8.0]]
    assert y.grad.tolist() == [4.0, 8.0]


def test_a_complex_root_of_a_real_matrix_is_an_error_that_says_so():
    with rg.lazy():
        root = rg.sqrtm(rg.tensor([[-4.0, 0.0], [0.0, 9.0]]))
        with pytest.raises(DTypeError, match="complex numbers for real ones"):
            root.numpy()


# jit, modes, threads.

def test_jit_and_lazy_meet():
    x = rg.tensor([1.0, 2.0])
    square = rg.jit(lambda t: t * t)
    with rg.lazy():
        y = square(x) + 1  # put down like any other function
        assert waits(y)
    assert square(y).tolist() == [4.0, 25.0]
    with rg.lazy():
        z = x * 3
    scaled = rg.jit(lambda t: t * z)
    assert scaled(x).tolist() == [3.0, 12.0]

    @rg.jit
    def inner(t):
        with rg.lazy():
            return rg.sin(t)

    np.testing.assert_allclose(inner(x).numpy(), np.sin(x.numpy()), rtol=1e-6)


def test_after_the_block_the_mode_is_the_ordinary_one_also_after_an_error():
    with pytest.raises(ZeroDivisionError), rg.lazy():
        1 / 0  # noqa: B018
    assert type(rg.ones(2) + 1) is rg.Tensor

    @rg.lazy()
    def decorated(x):
        return x + 1

    assert waits(decorated(rg.ones(2)))
    assert type(rg.ones(2) + 1) is rg.Tensor
    with rg.lazy(), rg.lazy():
        x = rg.ones(2) + 1
    assert waits(x)


def test_threads_do_not_see_the_mode_of_each_other_but_may_read_each_others_values():
    with rg.lazy():
        x = rg.tensor(numbers(2000))
        y = (rg.sin(x) * 2).sum()
        found = in_threads(lambda: {"class": type(rg.ones(2) + 1), "value": float(y)})
    assert found[0] == {"class": rg.Tensor, "value": pytest.approx((np.sin(x.numpy()) * 2).sum())}


def test_many_threads_can_be_lazy_at_once():
    data, failures = [numbers(300) for _ in range(8)], []

    def work(x):
        for n in range(20):
            with rg.lazy():
                t = rg.tensor(x, requires_grad=True)
                loss = (rg.sin(t) * t).sum()
                loss.backward()
            if not np.allclose(t.grad.numpy(), np.cos(x) * x + np.sin(x)):
                failures.append(n)

    in_threads(work, [(x,) for x in data])
    assert not failures


def test_random_numbers_are_those_of_eager_mode():
    def draw():
        generator = rg.manual_seed(8)
        return [rg.randn(3), rg.rand(2), rg.nn.functional.dropout(rg.ones(50), 0.5), generator.get_state().tolist()]

    expected = draw()
    with rg.lazy():
        found = draw()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


# Errors.

def test_an_error_of_shapes_comes_at_once_and_names_the_op():
    with rg.lazy():
        x = rg.ones(2, 3)
        with pytest.raises(rg.errors.ShapeError, match=r"matmul\(float32\[2, 3\], float32\[2, 3\]\)"):
            x @ x
        with pytest.raises(rg.errors.ShapeError, match=r"add\(float32\[2, 3\], float32\[4\]\)"):
            x + rg.ones(4)


@pytest.mark.parametrize("way", ["native", "reference"])
def test_an_error_in_numbers_names_the_op_and_the_line_where_it_was_called(way, monkeypatch):
    if way == "native":
        pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    monkeypatch.setenv(backends.VARIABLE, way)
    with rg.lazy():
        x = rg.ones(2, 3) * 2
        loss = rg.nn.functional.cross_entropy(x, rg.tensor([0, 7]))  # this line
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# this line"))
    with pytest.raises(rg.errors.OutOfRangeError, match=rf"cross_entropy.* 7 .*test_lazy\.py:{line} in test_an_error"):
        loss.item()
    assert x.sum().item() == 12.0


def test_a_shape_that_depends_on_data_is_computed_at_once():
    x = rg.tensor([3.0, -1.0, 2.0])
    with rg.lazy():
        y = x * 2
        positive = y[y > 0]
        repeated = rg.repeat(x, rg.tensor([1, 0, 2]))
    assert positive.tolist() == [6.0, 4.0]
    assert repeated.tolist() == [3.0, 2.0, 2.0]


def test_an_anomaly_is_found_where_it_arises():
    with rg.detect_anomaly(), rg.lazy(), np.errstate(all="ignore"):
        x = rg.zeros(2)
        with pytest.raises(rg.errors.AnomalyError, match="log made -inf"):
            rg.log(x)


def test_a_value_that_jit_traced_is_refused_after_its_trace():
    leaked = []
    rg.jit(lambda x: leaked.append(x * 2) or x)(np.ones(2))
    with rg.lazy(), pytest.raises(rg.errors.TraceError, match="after the trace had ended"):
        leaked[0] + 1


# Memory.

@pytest.mark.usefixtures("young_heap")
def test_a_value_that_nobody_reads_goes_away_with_all_that_it_would_have_read():
    gc.collect()  # so that no leaf of an earlier test goes away in between
    x = rg.tensor(numbers(10), requires_grad=True)
    data, readers = weakref.ref(x.data), dict(writes.READERS)
    with rg.lazy():
        y = rg.sin(x) * 2
        z = y.sum()
        z.backward()
    del x, y, z
    assert data() is None
    assert readers.keys() == writes.READERS.keys()


def test_nodes_and_inputs_are_let_go_once_a_value_is_computed():
    x = rg.tensor(numbers(10))
    data = weakref.ref(x.data)
    with rg.lazy():
        y = rg.sin(x) * 2
    y.realize()
    del x
    assert data() is None


def test_a_chain_of_twenty_thousand_ops_is_no_deeper_than_one_of_two(monkeypatch):
    monkeypatch.setenv(backends.VARIABLE, "reference")
    with rg.lazy():
        x = rg.ones(2)
        for _ in range(20_000):
            x = x + 1
    assert x.tolist() == [20_001.0, 20_001.0]


@pytest.mark.parametrize("writes_to_view", [True, False])
@pytest.mark.parametrize("made", [lambda x: x.T * 1, lambda x: x * 1, lambda x: (x + 1).T, lambda x: rg.flip(x.T) + 0])
def test_what_reshaping_copies_in_eager_mode_is_a_copy_in_a_lazy_graph(made, writes_to_view):
    def written():
        x = rg.tensor([[0.3, 0.8], [0.9, 2.2]])
        y = made(x)
        row = y.reshape(-1)
        (row if writes_to_view else y)[...] = 7
        return y, row

    expected = [z.numpy() for z in written()]
    with rg.lazy():
        found = written()
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs)


def test_a_value_that_is_written_over_entirely_has_a_gradient_of_zero_in_every_mode():
    def backward(x):
        y = x * 2
        y.fill_(3)
        (y * y).sum().backward()
        return x.grad

    assert backward(rg.tensor([1.0, 2.0], requires_grad=True)).tolist() == [0, 0]
    with rg.lazy():
        found = backward(rg.tensor([1.0, 2.0], requires_grad=True))
    assert found.tolist() == [0, 0]
    leaf = rg.tensor([1.0, 2.0], requires_grad=True)
    rg.jit(lambda: backward(leaf))()
    assert leaf.grad.tolist() == [0, 0]

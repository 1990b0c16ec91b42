"""What users may rely on around a compiled function: arguments, state, methods, errors, threads and processes."""

import gc
import os
import pickle
import warnings
import weakref
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError, OutOfRangeError, RetraceWarning, TraceError
from together import in_threads

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

Pair = namedtuple("Pair", "left right")


@dataclass
class Batch:
    x: Any
    rest: Any = None


# Arguments and results


def test_trees_of_all_kinds_go_in_and_come_out():
    @rg.jit
    def function(batch, pair, options):
        return Batch(batch.x + pair.left, {"none": None, "pair": Pair(options["a"][0] * 2, batch.rest)})

    out = function(Batch(np.ones(2), None), Pair(np.ones(2), 3), {"a": [np.full(2, 4.0)]})
    assert isinstance(out, Batch) and isinstance(out.rest["pair"], Pair)
    assert out.x.tolist() == [2, 2] and out.rest["none"] is None
    assert out.rest["pair"].left.tolist() == [8, 8] and out.rest["pair"].right is None


def test_the_same_leaves_in_another_structure_are_traced_anew():
    function = rg.jit(lambda tree: tree[0] if isinstance(tree, list) else tree["a"] * 2)
    x = np.ones(2)
    assert function([x]).tolist() == [1, 1]
    assert function({"a": x}).tolist() == [2, 2]
    assert function([x]).tolist() == [1, 1]
    assert function.traces == 2


def test_python_numbers_that_are_equal_but_of_other_types_are_told_apart():
    function = rg.jit(lambda x, n: x * n)
    x = np.ones(2, np.int64)
    assert [function(x, n).dtype for n in (1, True, 1.0)] == [np.int64, np.int64, np.float64]
    static = rg.jit(lambda x, n: x * n[0], static_argnums=1)
    assert [static(x, (n,)).dtype for n in (1, 1.0)] == [np.int64, np.float64]
    signs = rg.jit(lambda x, n: 1 / (x * n))
    assert [signs(np.ones(1), n).tolist() for n in (0.0, -0.0)] == [[np.inf], [-np.inf]]


def test_a_number_that_is_not_equal_to_itself_is_traced_once():
    function = rg.jit(lambda x, n: x + n)
    assert all(np.isnan(function(np.ones(1), float("nan"))).all() for _ in range(3))
    assert function.traces == 1


def test_static_arguments_by_place_and_by_name():
    calls = []

    def power(x, n, mode="plain"):
        calls.append((n, mode))
        return x**n if mode == "plain" else -(x**n)

    function = rg.jit(power, static_argnums=1, static_argnames="mode")
    x = np.full(2, 3.0)
    assert function(x, 2).tolist() == [9, 9]
    assert function(x, 3, mode="other").tolist() == [-27, -27]
    assert function(x, 2).tolist() == [9, 9]
    assert calls == [(2, "plain"), (3, "other")]
    with pytest.raises(rg.errors.ArgumentError, match="hashable"):
        function(x, [1, 2])


def test_what_is_written_to_an_argument_is_written_to_the_callers_array():
    def function(x, y):
        x += y
        y[0] = 7
        return x * 2

    for make in (np.array, rg.tensor):
        x, y = make([1.0, 2.0]), make([3.0, 4.0])
        assert rg.jit(function)(x, y).tolist() == [8, 12]
        assert x.tolist() == [4, 6] and y.tolist() == [7, 4]


def test_a_result_given_twice_is_two_arrays():
    for size in (3, 5000):
        a, b = rg.jit(lambda x: (x * 2, x * 2))(rg.ones(size))
        a += 1
        assert b[0].item() == 2


def test_arguments_and_state_that_are_returned_are_copies():
    w = rg.ones(5000)
    x = rg.ones(5000)
    a, b = rg.jit(lambda x: (x, w))(x)
    a += 1
    b += 1
    assert x[0].item() == w[0].item() == 1


# Derivatives


def test_the_gradient_of_a_compiled_function_is_that_of_the_function():
    inner = rg.jit(lambda x: (rg.sin(x) * x).sum())
    x = np.linspace(-1, 1, 5)
    np.testing.assert_allclose(rg.grad(inner)(x), np.cos(x) * x + np.sin(x))
    np.testing.assert_allclose(rg.jit(rg.grad(inner))(x), np.cos(x) * x + np.sin(x))
    t = rg.tensor(x, requires_grad=True)
    inner(t).backward()
    np.testing.assert_allclose(t.grad.numpy(), np.cos(x) * x + np.sin(x))


def test_an_argument_that_needs_a_gradient_is_told_from_one_that_does_not():
    function = rg.jit(lambda x: x.requires_grad)
    assert [function(rg.tensor([1.0], requires_grad=needs)) for needs in (False, True, False)] == [False, True, False]
    whole = rg.jit(lambda x: rg.astype(x, "int64").requires_grad)
    assert not whole(rg.tensor([1.0], requires_grad=True))


def test_a_step_that_uses_its_gradient_up_stays_compiled_for_arguments_that_need_one():
    w = rg.tensor([2.0], requires_grad=True)

    @rg.jit
    def step(x):
        loss = (x * w).sum()
        loss.backward()
        return w.grad * 1

    x = rg.tensor([3.0], requires_grad=True)
    assert step(x).tolist() == [3]
    assert x.grad.tolist() == [2]  # by the function itself, since the caller sees it


def test_jit_inside_jit_is_part_of_the_outer_program():
    inner = rg.jit(lambda x: x * 2)
    outer = rg.jit(lambda x: inner(x) + inner(x + 1))
    assert outer(np.ones(2)).tolist() == [6, 6]
    assert inner.traces == 0 and len(outer.explain().kernels) == 1


def test_no_grad_and_its_absence_are_traced_apart():
    w = rg.tensor([2.0], requires_grad=True)
    function = rg.jit(lambda x: (x * w).requires_grad)
    with rg.no_grad():
        assert not function(np.ones(1))
    assert function(np.ones(1))


# Methods


class Counter:
    def __init__(self, start):
        self.total = rg.tensor([float(start)])

    @rg.jit
    def add(self, x):
        self.total += x
        return self.total * 1


def test_a_method_has_a_state_for_each_object():
    a, b = Counter(1), Counter(10)
    assert [a.add(np.ones(1)).item(), b.add(np.ones(1)).item(), a.add(np.ones(1)).item()] == [2, 11, 3]
    assert a.add.traces == b.add.traces == 1


@pytest.mark.usefixtures("young_heap")
def test_an_object_with_a_compiled_method_can_be_freed():
    counter = Counter(1)
    counter.add(np.ones(1))
    reference = weakref.ref(counter)
    del counter
    gc.collect()
    assert reference() is None
    assert not Counter.add._methods


@pytest.mark.usefixtures("young_heap")
def test_a_compiled_method_keeps_its_object():
    add = Counter(1).add
    gc.collect()
    assert [add(np.ones(1)).item(), add(np.ones(1)).item()] == [2, 3]


# Tensors from outside


class Holder:
    pass


def placed(kind):
    """(a compiled function that multiplies by a tensor, what puts another tensor in its place)."""
    w = rg.tensor([2.0])
    if kind == "variable":
        def put(new):
            nonlocal w
            w = new

        return rg.jit(lambda x: x * w), put
    if kind == "attribute":
        holder = Holder()
        holder.w = w
        return rg.jit(lambda x: x * holder.w), lambda new: setattr(holder, "w", new)
    if kind == "list":
        several = [w]
        return rg.jit(lambda x: x * several[0]), lambda new: several.__setitem__(0, new)
    if kind == "dictionary":
        named = {"w": w}
        return rg.jit(lambda x: x * named["w"]), lambda new: named.update(w=new)
    if kind == "data":
        return rg.jit(lambda x: x * w), lambda new: setattr(w, "data", new.data)
    if kind == "global":
        globals()["W"] = w
        return rg.jit(lambda x: x * W), lambda new: globals().update(W=new)  # noqa: F821
    helper = lambda x: x * w

    def put_in_helper(new):
        nonlocal w
        w = new

    return rg.jit(lambda x: helper(x)), put_in_helper


@pytest.mark.parametrize("kind", ["variable", "attribute", "list", "dictionary", "data", "global", "helper"])
@pytest.mark.parametrize("new", [[5.0], [5.0, 6.0]])
def test_another_tensor_in_place_of_one_that_is_used_is_noticed(kind, new):
    function, put = placed(kind)
    assert function(np.ones(1)).tolist() == [2]
    put(rg.tensor(new))
    assert function(np.ones(1)).tolist() == new
    assert function(np.ones(1)).tolist() == new


def test_an_attribute_that_goes_or_becomes_none_is_noticed():
    holder = Holder()
    holder.w = rg.tensor([2.0])
    function = rg.jit(lambda x: x if getattr(holder, "w", None) is None else x * holder.w)
    assert function(np.ones(1)).tolist() == [2]
    holder.w = None
    assert function(np.ones(1)).tolist() == [1]
    del holder.w
    assert function(np.ones(1)).tolist() == [1]


def test_another_module_or_parameter_in_a_model_is_noticed():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    function = rg.jit(lambda x: model(x))
    x = np.ones((1, 2), np.float32)
    for change in (
        lambda: setattr(model, "1", nn.Tanh()),
        lambda: setattr(model, "0", nn.Linear(2, 3)),
        lambda: setattr(getattr(model, "0"), "weight", nn.Parameter(rg.ones(3, 2))),
        lambda: setattr(getattr(model, "0"), "bias", None),
    ):
        function(x)
        change()
        np.testing.assert_allclose(function(x).detach().numpy(), model(x).detach().numpy(), rtol=1e-6)


def test_a_loaded_optimizer_state_is_used():
    def trained(compiles):
        p = nn.Parameter(rg.ones(3))
        optimizer = optim.Adam([p], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            (p * x).sum().backward()
            optimizer.step()

        run = rg.jit(step) if compiles else step
        x = np.array([1.0, -2.0, 3.0], np.float32)
        run(x)
        saved = optimizer.state_dict()
        for _ in range(3):
            run(x)
        optimizer.load_state_dict(saved)
        run(-x)
        return p.tolist(), [s["step"].item() for s in optimizer.state.values()]

    (eager, steps), (compiled, same) = trained(False), trained(True)
    np.testing.assert_allclose(compiled, eager, rtol=1e-5)
    assert steps == same


def test_tensors_whose_elements_lie_apart_are_read_and_written():
    base = rg.tensor(np.arange(12.0).reshape(3, 4))
    column, turned = base[:, 1].detach(), rg.tensor(np.arange(6.0).reshape(2, 3))
    turned.data = turned.data.T

    @rg.jit
    def step(x):
        column[...] = column + x
        turned[...] = turned * 2
        return column.sum() + turned.sum()

    with rg.no_grad():
        assert step(np.ones(3)).item() == 18 + 30
    assert base[:, 1].tolist() == [2, 6, 10] and turned.tolist() == [[0, 6], [2, 8], [4, 10]]


def test_a_tensor_of_another_shape_or_dtype_in_place_is_traced_anew():
    w = rg.tensor([1.0, 2.0])
    function = rg.jit(lambda x: x * w)
    function(np.ones(1))
    w.data = np.ones((3, 2))
    assert function(np.ones(1)).shape == (3, 2)
    w.data = np.ones((3, 2), np.float32)
    assert function(np.ones(1, np.float32)).dtype == np.float32


def test_a_tensor_made_in_the_function_starts_anew_at_each_call():
    def function(x):
        total, twice = rg.zeros(3, dtype="float64"), rg.ones_like(x)
        before = total + 1
        for _ in range(2):
            total += x
            twice *= 2
        total[1] = 0
        return total, twice, before

    x = np.arange(3.0)
    compiled = rg.jit(function)
    for _ in range(3):
        for a, b in zip(compiled(x), function(rg.tensor(x)), strict=True):
            np.testing.assert_array_equal(a, b)


def test_dropout_draws_the_same_numbers_as_outside():
    model = nn.Sequential(nn.Linear(6, 50), nn.Dropout(0.4))
    compiled = rg.jit(lambda x: model(x))
    x = np.ones((4, 6), np.float32)
    found = []
    for run in (compiled, model):
        rg.manual_seed(5)
        found.append([np.asarray(run(x).detach()) for _ in range(3)])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    assert not np.array_equal(found[0][0], found[0][1])
    assert compiled.traces == 1


def test_a_generator_of_ones_own_goes_on_where_it_was():
    numbers = []
    for compiles in (False, True):
        generator = rg.Generator(3)
        draw = lambda x, g=generator: x + rg.rand(3, generator=g) + rg.randn(3, generator=g)
        run = rg.jit(draw) if compiles else draw
        numbers.append([np.asarray(run(rg.zeros(3))) for _ in range(3)] + [np.asarray(rg.rand(2, generator=generator))])
    for a, b in zip(*numbers, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_profiling_leaves_state_and_gradients_as_one_call_leaves_them():
    found = []
    for profiles in (False, True):
        p = nn.Parameter(rg.ones(50))
        optimizer = optim.Adam([p], lr=0.1)

        @rg.jit
        def step(x, p=p, optimizer=optimizer):
            optimizer.zero_grad()
            loss = ((p * x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        x = np.linspace(0, 1, 50, dtype=np.float32)
        step.profile(x) if profiles else step(x)
        found.append([p.tolist(), p.grad.tolist(), *[t.tolist() for t in optimizer.state[p].values()]])
    assert found[0] == found[1]


# Errors


def test_an_index_out_of_range_is_an_error_and_the_next_call_works():
    function = rg.jit(lambda x, i: rg.take(x, i).sum())
    x = np.arange(4.0)
    for bad in (4, -5, 2**40):
        with pytest.raises(OutOfRangeError):
            function(x, np.array([0, bad]))
        assert function(x, np.array([3, -1])) == 6


def test_constant_retracing_is_warned_about_once_with_the_argument_that_changes():
    function = rg.jit(lambda x, rate: x * rate)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(20):
            function(np.ones(2), 0.5 + i)
    assert [w.category for w in caught] == [RetraceWarning]
    assert "rate: 6.5, then 7.5" in str(caught[0].message)
    assert caught[0].filename == __file__


def retraced(function, *calls):
    """The warning of a function that is called many times, each time with the next (args, kwargs) that `calls` give for i."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(20):
            args, kwargs = calls[0](i)
            function(*args, **kwargs)
    assert [w.category for w in caught] == [RetraceWarning]
    return str(caught[0].message)


X2 = np.ones(2)


@pytest.mark.parametrize(("function", "call", "told"), [
    (rg.jit(lambda x, *, rate=1.0: x * rate), lambda i: ((X2,), {"rate": 0.5 + i}), "(rate: 6.5, then 7.5)"),
    (rg.jit(lambda x, **options: x * options["rate"]), lambda i: ((X2,), {"fixed": 1, "rate": i}), "(rate: 6, then 7)"),
    (rg.jit(lambda x, *rates: x * rates[1]), lambda i: ((X2, 1, i), {}), "(rates[1]: 6, then 7)"),
    (rg.jit(lambda x, sizes: x * sizes[0], static_argnums=1), lambda i: ((X2, (i, 2, 3)), {}), "(sizes: (6, 2, 3), then (7, 2, 3))"),
    (rg.jit(lambda x, sizes: x * sizes[0], static_argnums=1), lambda i: ((X2,), {"sizes": (i, 2)}), "(sizes: (6, 2), then (7, 2))"),
    (rg.jit(lambda x, name: x, static_argnames="name"), lambda i: ((X2,), {"name": f"n{i}"}), "(name: 'n6', then 'n7')"),
    (rg.jit(lambda xs: sum(xs)), lambda i: (([X2] * (i + 1),), {}), "(xs: 7 leaves, then 8 leaves)"),
    (rg.jit(lambda x: sum(x.values())), lambda i: (({f"k{i}": X2, "l": X2},), {}), "(x: another structure each time)"),
    (rg.jit(lambda x, scale=None: x), lambda i: ((np.ones(i + 1),), {}), "(x: float64[7], then float64[8])"),
    (rg.jit(lambda x, y: x), lambda i: (([X2] * (i + 1), {"a": i}), {}), "(x: 7 leaves, then 8 leaves)"),
], ids=range(10))
def test_the_argument_that_changes_is_always_named(function, call, told):
    assert told in retraced(function, call)


def test_a_tensor_from_outside_that_changes_is_named():
    weight = rg.ones(2)

    def put(i):
        nonlocal weight
        weight = rg.ones(2) * i
        return (X2,), {}

    assert "; `weight` that it uses from outside changes" in retraced(rg.jit(lambda x: x * weight), put)
    other = rg.ones(2)

    def reshape(i):
        other.data = np.ones(i + 1)
        return (1.0,), {}

    assert "(float64[7], now float64[8]) that it uses from outside" in retraced(rg.jit(lambda x: other * x), reshape)


def test_shapes_that_alternate_are_not_warned_about():
    function = rg.jit(lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(30):
            function(np.ones(3 + i % 3))


LEAKED = []


def leak(x):
    LEAKED[:] = [x * 2]
    return x


TEACHING = {
    "float": (lambda x: float(x.sum()), "traced by jit"),
    "if": (lambda x: 1 if (x > 0).all() else 2, r"rg\.where"),
    "item": (lambda x: x.sum().item(), "traced by jit"),
    "a mask": (lambda x: x[x > 0], "depends on data"),
    "numpy": (lambda x: np.asarray(x) + 1, "traced by jit"),
    "a range": (lambda x: [0 for _ in range(x.sum().astype("int64"))], "traced by jit"),
}


@pytest.mark.parametrize("what", TEACHING)
def test_what_cannot_be_traced_says_what_to_do(what):
    function, message = TEACHING[what]
    with pytest.raises(TraceError, match=message):
        rg.jit(function)(np.ones(3))


def test_a_traced_value_that_leaks_says_so():
    rg.jit(leak)(np.ones(3))
    for use in (lambda v: v + 1, float, np.asarray, lambda v: v.numpy(), rg.jit(lambda v: v * 1), rg.jit(lambda _: LEAKED[0] * 3)):
        with pytest.raises(TraceError, match="in a call that is over"):
            use(LEAKED[0])


def test_a_traced_value_can_be_printed_and_shows_what_is_known_of_it():
    texts = []
    rg.jit(lambda x: texts.append(f"{x!r} {(x > 0)._repr_html_()}"))(np.ones((3, 2)))
    assert texts == ["tensor(float64[3, 2], traced by jit) <pre>tensor(bool[3, 2], traced by jit)</pre>"]


class Tally:
    """An object whose state a method replaces instead of writing to it."""

    def __init__(self):
        self.count, self.sums = rg.tensor(0.0), [rg.tensor(0.0)]

    @rg.jit
    def add(self, x):
        self.count = self.count + x
        return self.count

    @rg.jit
    def add_to_list(self, x):
        self.sums[0] = self.sums[0] + x
        return self.sums[0]

    @rg.jit
    def keep(self, x):
        self.seen = x * 2
        return self.seen + self.count


def test_state_that_is_replaced_instead_of_written_to_is_an_error_and_stays():
    tally, total = Tally(), rg.tensor(0.0)

    @rg.jit
    def add(x):
        nonlocal total
        total = total + x
        return total

    for function, name in ((tally.add, "`count`"), (tally.add_to_list, "entry 0"), (add, "`total`")):
        with pytest.raises(TraceError, match=f"{name} held a tensor of shape .*in place"):
            function(rg.tensor(1.0))
    assert [tally.count.item(), tally.sums[0].item(), total.item()] == [0.0, 0.0, 0.0]
    assert tally.keep(rg.tensor(1.0)).item() == 2.0


def test_jit_of_a_result_instead_of_a_function_says_so():
    with pytest.raises(ArgumentError, match=r"jit\(f\)"):
        rg.jit(np.ones(3))


def test_numpy_functions_on_traced_values_are_ops():
    assert rg.jit(lambda x: np.sin(x) + np.sum(x, axis=0))(np.zeros(3)).tolist() == [0, 0, 0]


# Threads and processes


def parallel_step():
    w = rg.tensor(np.linspace(0, 1, 600 * 600).reshape(600, 600))
    return rg.jit(lambda x: rg.tanh(x @ w).sum(axis=1)), lambda x: np.tanh(x @ w.numpy()).sum(axis=1)


def test_a_process_that_forks_after_a_parallel_call_works_in_parent_and_child():
    step, wanted = parallel_step()
    x = np.random.default_rng(0).standard_normal((600, 600))
    step(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that threads are running is the point
        child = os.fork()
    if child == 0:
        good = False
        try:
            good = np.allclose(np.asarray(step(x)), wanted(x)) and np.allclose(np.asarray(step(x + 1)), wanted(x + 1))
        finally:
            os._exit(0 if good else 1)  # whatever happens, the child does not go on with the tests
    np.testing.assert_allclose(step(x).numpy(), wanted(x))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("size", [8, 400])
def test_threads_may_call_one_function_at_the_same_time(size):
    w = rg.tensor(np.linspace(0, 1, size * size).reshape(size, size))
    shared, other = rg.jit(lambda x: rg.tanh(x @ w).sum(axis=1)), rg.jit(lambda x: (rg.sin(x) @ w).sum(axis=0))
    xs = [np.full((size, size), float(k)) for k in range(4)]
    wanted = [(np.tanh(x @ w.numpy()).sum(axis=1), (np.sin(x) @ w.numpy()).sum(axis=0)) for x in xs]

    def work(k):
        for _ in range(15):
            np.testing.assert_allclose(shared(xs[k]).numpy(), wanted[k][0], rtol=1e-9)
            np.testing.assert_allclose(other(xs[k]).numpy(), wanted[k][1], rtol=1e-9)

    in_threads(work, [(k,) for k in range(4)])


def test_a_library_call_with_several_results_is_explained_too():
    step = rg.jit(lambda x: rg.linalg.qr(x))
    step(rg.tensor(np.eye(3)))
    assert "several results" in str(step.explain()) and "qr" in str(step.profile(rg.tensor(np.eye(3)), repeats=1))


def waves(x):
    return rg.concatenate([rg.sin(x * k) * x[::-1] for k in range(1, 6)])


@pytest.mark.parametrize("function", [
    rg.jacobian(waves), rg.jacobian(rg.jacobian(waves)), rg.hessian(lambda x: (waves(x) ** 2).sum()),
    rg.grad(lambda x: (rg.jacobian(waves)(x) ** 3).sum()), lambda x: rg.jacobian(lambda y: waves(y * x))(x),
    rg.jacobian(lambda x: rg.arange(20.0, dtype=rg.float64) * 2),
    lambda x: rg.jacobian(lambda t: t["a"] * waves(t["b"])[:12])({"a": x, "b": x * 2}),
], ids=["first", "second", "hessian", "gradient", "within", "constant", "tree"])
def test_a_compiled_jacobian_of_many_rows_is_the_eager_one(function):
    x = np.linspace(0.1, 1.0, 12)
    for wanted, got in zip(rg.tree.leaves(function(x)), rg.tree.leaves(rg.jit(function)(x)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-10)


def test_the_walk_of_a_jacobian_is_traced_once_however_many_rows_there_are():
    sizes = []
    for n in (20, 40):
        compiled = rg.jit(rg.jacobian(lambda x: rg.cumsum(rg.sin(x), axis=0)))
        compiled(np.ones(n))
        sizes.append(len(compiled._last_step().program.schedule.nodes))
    assert sizes[0] == sizes[1]


# Arrays and tensors.

WEIGHT = rg.tensor([1.0, 2.0])
WANTED = rg.tensor([1.0, 2.0], requires_grad=True)


def set_in_place(x):
    z = rg.zeros(2, dtype=rg.float64)
    z[...] = x * 2
    return z, z * 1


KINDS = {
    "ops on an array": lambda x: rg.sin(x) * 2,
    "an array and a tensor": lambda x: (x * 2, x * WEIGHT, WEIGHT * 1),
    "grad": rg.grad(lambda x: (x * WEIGHT).sum()),
    "grad and more": lambda x: rg.grad(lambda x: (x * WEIGHT).sum())(x) * x,
    "grad and a tensor": lambda x: rg.grad(lambda x: (x * WEIGHT).sum())(x) * WEIGHT,
    "value and grad": rg.value_and_grad(lambda x: (x * WEIGHT).sum()),
    "grad of grad": rg.grad(lambda x: rg.grad(lambda x: (x**3 * WEIGHT).sum())(x).sum()),
    "grad in a tensor": lambda x: rg.grad(lambda w: (w * x).sum())(WEIGHT),
    "no gradient": rg.grad(lambda x: WEIGHT.sum()),
    "vjp": lambda x: rg.vjp(lambda x: x * WEIGHT, x)[1](x),
    "jvp": lambda x: rg.jvp(lambda x: x * WEIGHT, (x,), (x,)),
    "jvp along a tensor": lambda x: rg.jvp(lambda x: x * WEIGHT, (x,), (WEIGHT.astype(rg.float64),)),
    "linearize": lambda x: rg.linearize(lambda x: x * WEIGHT, x)[1](x),
    "jacobian": rg.jacobian(lambda x: x * WEIGHT),
    "hessian": rg.hessian(lambda x: (x**3 * WEIGHT).sum()),
    "jacfwd": rg.jacfwd(lambda x: x * WEIGHT),
    "vmap of grad": rg.vmap(rg.grad(lambda x: x * x * WEIGHT[0])),
    "written in place": set_in_place,
    "what needs a gradient": lambda x: x * WANTED,
    "grad of what needs a gradient": rg.grad(lambda x: (x * WANTED).sum()),
}


def kinds(found):
    return [isinstance(leaf, rg.Tensor) for leaf in rg.tree.leaves(found)]


@pytest.mark.parametrize("name", KINDS)
def test_results_are_arrays_where_they_are_without_jit(name):
    function, x = KINDS[name], np.array([0.5, 1.5])
    expected, found = function(x), rg.jit(function)(x)
    assert kinds(found) == kinds(expected)
    for a, b in zip(rg.tree.leaves(found), rg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), b.detach().numpy() if isinstance(b, rg.Tensor) else b)
    assert kinds(rg.jit(function)(rg.tensor(x))) == kinds(function(rg.tensor(x)))


def test_arguments_of_both_kinds_give_results_of_both_kinds():
    function = lambda x, w: (x * 2, x * w, rg.grad(lambda x: (x * w).sum())(x))
    x, w = np.ones(2), rg.ones(2)
    assert kinds(rg.jit(function)(x, w)) == kinds(function(x, w)) == [False, True, False]


@pytest.mark.parametrize("is_first", [True, False])
def test_freezing_and_unfreezing_parameters_is_noticed(is_first):
    model = rg.nn.Sequential(rg.nn.Linear(2, 2), rg.nn.Linear(2, 1))
    optimizer, frozen = rg.optim.SGD(model.parameters(), lr=0.1), model[0].weight
    frozen.requires_grad_(is_first)

    @rg.jit
    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    def moves():
        before = frozen.detach().numpy().copy()
        step(rg.ones((3, 2)))
        return not np.array_equal(before, frozen.detach().numpy())

    assert moves() is is_first
    model[0].requires_grad_(not is_first)
    assert moves() is not is_first
    model[0].requires_grad_(is_first)
    assert moves() is is_first


def test_bytes_of_another_order_are_turned_round():
    foreign = np.array([-1.0, 2.0, 3.0]).astype(np.dtype("f8").newbyteorder("S"))
    np.testing.assert_array_equal(rg.jit(lambda x: x + 1)(foreign), [0.0, 3.0, 4.0])
    np.testing.assert_array_equal(rg.jit(lambda x: x + foreign)(np.zeros(3)), foreign)


def test_an_argument_that_the_function_writes_to_in_another_way_has_what_was_written():
    state, twice = rg.zeros(3), rg.ones(3)

    def grown(given):
        state[...] = state + 1
        return state + given

    np.testing.assert_array_equal(rg.jit(grown)(state).numpy(), [2.0] * 3)
    np.testing.assert_array_equal(rg.jit(grown)(rg.zeros(3)).numpy(), [2.0] * 3)

    def added(x, y):
        x += 1
        return y * 1

    np.testing.assert_array_equal(rg.jit(added)(twice, twice).numpy(), [2.0] * 3)
    np.testing.assert_array_equal(rg.jit(added)(twice[:2], twice[1:]).numpy(), [3.0, 2.0])


def test_a_list_or_a_module_that_has_grown_is_noticed():
    weights, model = [rg.tensor([1.0, 2.0])], nn.ModuleList([nn.Linear(2, 2)])

    @rg.jit
    def function(x):
        for layer in model:
            x = layer(x)
        return sum([(x * w).sum() for w in weights])

    def alike(x):
        np.testing.assert_allclose(function(x).item(), function.__wrapped__(x).item(), rtol=1e-5)

    alike(rg.ones(2))
    weights.append(rg.tensor([3.0, 4.0]))
    alike(rg.ones(2))
    model.append(nn.Linear(2, 2))
    alike(rg.ones(2))
    weights.pop(0)
    alike(rg.ones(2))
    count = function.traces
    alike(rg.zeros(2))
    assert function.traces == count == 4


@pytest.mark.parametrize("array", [np.arange(6000.0).reshape(2, 3000).T, np.arange(6000.0).reshape(2, 3000)[:, ::2]])
def test_a_module_whose_unpickled_memory_numpy_would_not_give_back_is_compiled(array):
    layer = nn.Module()
    layer.weight = nn.Parameter(rg.asarray(array))
    again = pickle.loads(pickle.dumps(layer))
    step = rg.jit(lambda y: y + again.weight.sum())
    assert float(step(rg.tensor(1.0))) == 1 + array.sum()
    with rg.no_grad():
        again.weight *= 2
    assert float(step(rg.tensor(1.0))) == 1 + 2 * array.sum()

"""Gradients of compiled steps: the objects that eager code leaves, with what it leaves in them."""

import contextlib

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import DTypeError, InplaceError, TraceError

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def leaf(*numbers):
    return rg.tensor([float(n) for n in numbers], requires_grad=True)


def same(scenario):
    """Whether `scenario(run)`, which calls what `run` makes of a function, gives the same for `rg.jit` as without it."""
    compiled, eager = scenario(rg.jit), scenario(lambda f: f)
    for found, wanted in zip(compiled, eager, strict=True):
        np.testing.assert_allclose(np.asarray(found, float), np.asarray(wanted, float), rtol=1e-5, atol=1e-7)


def numbers(*tensors):
    return [np.full(1, np.nan) if t is None else t.detach().numpy().copy() for t in tensors]


def test_leaves_whose_gradients_are_one_value_have_gradients_of_their_own():
    def scenario(run):
        a, b, found = leaf(1, 2), leaf(1, 2), []

        def step(x):
            ((a + b) * x).sum().backward()
            with rg.no_grad():
                a.grad *= 2

        step = run(step)
        for _ in range(3):
            step(rg.tensor([1.0, 3.0]))
            found += numbers(a.grad, b.grad)
        a.grad[0] = 7
        return [*found, *numbers(b.grad)]

    same(scenario)


@pytest.mark.parametrize("is_linked", [False, True])
def test_eager_gradients_that_can_be_differentiated_share_no_memory(is_linked):
    a, b = leaf(1, 2), leaf(1, 2)
    (a + b).sum().backward(create_graph=is_linked)
    with rg.no_grad():
        a.grad.__imul__(2)
    assert b.grad.tolist() == [1, 1]


@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM])
def test_clipped_gradients_of_the_biases_of_recurrent_layers_are_clipped_once(kind):
    def scenario(run):
        rg.manual_seed(0)
        layer, found = kind(3, 4), []

        def step(x):
            layer.zero_grad()
            (layer(x)[0] ** 2).sum().backward()
            nn.utils.clip_grad_norm_(layer.parameters(), 0.1)

        step = run(step)
        for i in range(2):
            step(rg.ones(2, 2, 3) * (i + 1))
            found += numbers(*[p.grad for p in layer.parameters()])
        return found

    same(scenario)


def test_gradients_in_several_arguments_are_written_to_one_by_one():
    def scenario(run):
        def function(a, b):
            g, h = rg.grad(lambda a, b: ((a + b) ** 2).sum(), argnums=(0, 1))(a, b)
            g += 1
            return g, h

        function = run(function)
        return [x for _ in range(2) for x in numbers(*function(rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0])))]

    same(scenario)


def test_constant_gradients_are_added_at_each_call():
    def scenario(run):
        rg.manual_seed(0)
        layer, found = nn.Linear(3, 2), []
        step = run(lambda x: layer(x).mean().backward())
        for i in range(4):
            step(rg.ones(2, 3) * (i + 1))
            found += numbers(layer.bias.grad, layer.weight.grad)
        return found

    same(scenario)


def test_constant_gradients_that_are_written_to_start_anew_at_each_call():
    def scenario(run):
        a, found = leaf(1, 2), []

        def step(x):
            a.grad = None
            a.sum().backward()
            with rg.no_grad():
                a.grad *= x
            g = rg.grad(lambda z: (3 * z).sum())(x)
            g += 1
            h = rg.grad(lambda z: (3 * z).sum())(a)
            h += 1
            return g, h

        step = run(step)
        for _ in range(3):
            found += [*numbers(*step(rg.tensor(3.0))), *numbers(a.grad)]
        return found

    same(scenario)


def test_constant_gradients_that_hooks_write_to_start_anew_at_each_call():
    def scenario(run):
        a, found = leaf(1, 2), []

        def double(g):
            with rg.no_grad():
                g *= 2

        a.register_hook(double)
        step = run(lambda: a.sum().backward())
        for _ in range(4):
            step()
            found += numbers(a.grad)
        return found

    same(scenario)


def test_constant_gradients_of_a_critic_are_clipped():
    def scenario(run):
        rg.manual_seed(0)
        layer, found = nn.Linear(3, 1), []
        optimizer = optim.SGD(layer.parameters(), lr=0.1)

        def step(x):
            optimizer.zero_grad()
            layer(x).mean().backward()
            nn.utils.clip_grad_norm_(layer.parameters(), 0.5)
            optimizer.step()

        step = run(step)
        for i in range(3):
            step(rg.ones(2, 3) * (i + 1))
            found += numbers(layer.bias.grad, layer.weight, layer.bias)
        return found

    same(scenario)


EDITS = {"clipped": lambda w: nn.utils.clip_grad_norm_([w], 0.5), "set": lambda w: w.grad.__setitem__(0, 2.0),
         "zeros": lambda w: w.grad.detach().zero_(), "added": lambda w: w.grad.__iadd__(w.detach())}


@pytest.mark.parametrize("name", EDITS)
def test_gradients_whose_elements_lie_apart_are_changed_in_place(name):
    def scenario(run):
        w, found = rg.tensor(np.arange(12.0).reshape(3, 4), requires_grad=True), []

        def step():
            with rg.no_grad():
                EDITS[name](w)

        step = run(step)
        for i in range(3):
            w.grad = rg.asarray(np.asfortranarray(np.arange(12.0).reshape(3, 4) + i))
            kept = w.grad
            step()
            assert w.grad is kept
            found += numbers(kept)
        return found

    same(scenario)


def test_a_gradient_that_is_kept_is_the_one_that_is_added_to():
    def scenario(run):
        a, found = leaf(1, 2), []
        (a * 1).sum().backward()
        kept, step = a.grad, run(lambda x: (a * x).sum().backward())
        for i in range(4):
            step(rg.tensor(3.0))
            assert a.grad is kept
            found += numbers(kept)
            if i == 1:
                kept.data[...] = 5
        return found

    same(scenario)


@pytest.mark.parametrize("share", [lambda g: g, lambda g: g.detach(), lambda g: g[:1].broadcast_to((2,))])
def test_gradients_that_come_to_share_memory_between_calls_are_noticed(share):
    def scenario(run):
        a, b, found = leaf(1, 2), leaf(1, 2), []
        step = run(lambda x: ((a + b) * x).sum().backward())
        for i in range(6):
            if i == 3:
                with rg.no_grad():
                    b.grad = share(a.grad)
            if i == 5:
                b.grad = rg.zeros(2)
            try:
                step(rg.tensor([1.0, 3.0]))
            except InplaceError:
                found.append([-1.0])
            found += numbers(a.grad, b.grad)
        return found

    same(scenario)


def test_a_gradient_of_another_dtype_is_noticed():
    def scenario(run):
        a, found = leaf(1, 2), []
        step = run(lambda x: (a * x).sum().backward())
        for i in range(6):
            step(rg.tensor(3.0))
            found += numbers(a.grad)
            if i == 2:
                a.grad = rg.tensor(np.array([1.0, 2.0]))
        assert a.grad.dtype == rg.float64
        return found

    same(scenario)


def test_an_argument_that_is_the_gradient_which_is_added_to():
    def scenario(run):
        a, found = leaf(1, 2), []
        a.grad = rg.zeros(2)

        def step(x):
            (a * 2).sum().backward()
            return x * 1

        step = run(step)
        for x in (rg.ones(2), a.grad, rg.ones(2), a.grad.detach()):
            found += numbers(step(x), a.grad)
        return found

    same(scenario)


def test_tensors_that_hold_one_gradient_hold_one_after_a_compiled_step():
    def scenario(run):
        a, b, c, found = leaf(1, 2), leaf(3, 4), rg.ones(2), []

        def step(x):
            (a * x).sum().backward()
            b.grad = a.grad
            x.detach()

        def swap(x):
            a.grad, b.grad = b.grad, c
            return x * 1

        step, swap = run(step), run(swap)
        for _ in range(3):
            a.grad = None
            step(rg.tensor(2.0))
            assert a.grad is b.grad
            a.grad[0] = 9
            found += numbers(a.grad, b.grad)
            before = b.grad = rg.full(2, 4.0)
            swap(rg.ones(2))
            assert a.grad is before
            assert b.grad is c
            found += numbers(a.grad, b.grad)
        return found

    same(scenario)


@pytest.mark.parametrize("step", [lambda a, x: (a * x).sum().backward(), lambda a, x: a.grad.__imul__(x)])
@pytest.mark.parametrize("run", [rg.jit, lambda f: f])
def test_a_gradient_that_is_read_only_is_an_error(step, run):
    a = leaf(1, 2)
    a.grad = rg.zeros(2)
    step = run(lambda x, step=step: step(a, x))
    step(rg.tensor(3.0))
    a.grad.data.flags.writeable = False
    before = a.grad.tolist()
    for _ in range(2):
        with pytest.raises(InplaceError, match="read-only"):
            step(rg.tensor(3.0))
    assert a.grad.tolist() == before


def test_a_parameter_in_memory_that_is_read_only_is_an_error():
    array = np.ones(2)
    array.flags.writeable = False
    state = rg.zeros(2, dtype="float64")
    step = rg.jit(lambda x: state.__iadd__(x))
    step(rg.ones(2))
    state.data = array
    with pytest.raises(InplaceError, match="read-only"):
        step(rg.ones(2))
    assert array.tolist() == [1, 1]


def test_a_number_of_numpy_as_data_has_memory_of_its_own():
    def scenario(run):
        t, p, found = rg.tensor(2.0), nn.Parameter(rg.tensor(3.0)), []
        step = run(lambda x: (x * t + p).detach())
        for _ in range(3):
            found += numbers(step(rg.tensor([3.0, 4.0])))
            _ = [np.float64(i) for i in range(1000)]
            t.data, p.data = t.data * np.float32(0.5), p.data * np.float32(0.5)
        return found

    same(scenario)
    t = rg.tensor(2.0)
    t.data = t.data * np.float32(0.5)
    t += 1
    assert t.item() == 2


@pytest.mark.parametrize("data", [3.0, [1.0, 2.0]])
def test_data_that_is_no_array_is_an_error(data):
    t = rg.tensor(2.0)
    step = rg.jit(lambda x: x * t)
    step(rg.ones(2))
    t.data = data
    with pytest.raises(DTypeError, match="the data of a tensor is an array"):
        step(rg.ones(2))
    with pytest.raises((DTypeError, AttributeError)):
        t * 2


def test_gradients_of_a_call_before_one_that_failed_are_gone_as_they_are_without_jit():
    def scenario(run):
        table, found = rg.tensor(np.arange(6.0).reshape(3, 2), requires_grad=True), []

        def step(i):
            table.grad = None
            (table[i] ** 2).sum().backward()

        step = run(step)
        for i in (1, 2, 7, 0):
            try:
                step(np.array([i]))
            except IndexError:
                found += numbers(table.grad)
        return [*found, *numbers(table.grad)]

    same(scenario)


def test_whether_a_tensor_that_is_not_used_requires_gradients_is_noticed_where_it_is_set():
    def scenario(run):
        unused, found = leaf(1.0), []

        def step(x):
            unused.requires_grad = not unused.requires_grad
            return x * 1

        step = run(step)
        for _ in range(5):
            step(rg.ones(2))
            found.append([unused.requires_grad])
        return found

    same(scenario)


def test_a_hook_on_a_tensor_from_outside_is_refused_unless_it_is_removed():
    x, v = leaf(1, 2), rg.tensor([3.0, 4.0])

    def left(v):
        x.register_hook(lambda g: g * 2)
        (x * v).sum().backward()

    def removed(v):
        handle = x.register_hook(lambda g: g * 2)
        (x * v).sum().backward()
        handle.remove()

    for _ in range(2):
        with pytest.raises(TraceError, match="hook was registered on a tensor"):
            rg.jit(left)(v)
    x.grad = None
    (x * v).sum().backward()
    assert x.grad.tolist() == [3, 4]  # no hook is left
    x.grad, step = None, rg.jit(removed)
    step(v), step(v)
    assert x.grad.tolist() == [12, 16]


def test_a_hook_on_a_module_from_outside_is_refused_unless_it_is_removed():
    layer, x = nn.Linear(2, 2), rg.ones((1, 2))
    expected = layer(x).tolist()

    def left(x):
        layer.register_forward_hook(lambda module, args, output: output * 2)
        return layer(x)

    def removed(x):
        with contextlib.closing(Registered(layer)):
            return layer(x)

    with pytest.raises(TraceError, match="hook of Linear"):
        rg.jit(left)(x)
    assert layer(x).tolist() == expected
    step = rg.jit(removed)
    for _ in range(3):
        np.testing.assert_allclose(step(x).detach(), 2 * np.array(expected))


class Registered:
    """A hook that doubles, until it is closed."""

    def __init__(self, layer):
        self.close = layer.register_forward_hook(lambda module, args, output: output * 2).remove


def test_a_hook_on_a_tensor_of_the_trace_is_called_at_each_call():
    def inside(v):
        made = rg.tensor([1.0, 2.0], requires_grad=True)
        made.register_hook(lambda g: g * 2)
        (made * v).sum().backward()
        return made.grad

    step = rg.jit(inside)
    for number in (3.0, 5.0):
        assert step(rg.tensor([number, number])).tolist() == [2 * number] * 2


def test_what_asks_whether_gradients_are_required_is_traced_anew_when_that_changes_or_another_tensor_comes():
    def scenario(run):
        model, found = nn.Linear(2, 2), []
        model.weight.data, model.bias.data = np.ones((2, 2)), np.ones(2)
        decay = run(lambda x: sum((p * p).sum() for p in model.parameters() if p.requires_grad) + x)

        def note():
            found.append(np.asarray(decay(rg.tensor(0.5)).detach()))

        model.weight.requires_grad_(False)
        note()
        model.weight.requires_grad_(True)
        note()
        model.requires_grad_(False)
        note()
        model.weight = nn.Parameter(rg.full((2, 2), 3.0))
        note()
        return found

    same(scenario)

import weakref
from dataclasses import dataclass

import numpy as np
import pytest

import retrograde as rg
from retrograde.testing import assert_close, check_gradients

X, W = np.linspace(-1, 1, 6).reshape(2, 3), np.linspace(0.5, 2, 6).reshape(3, 2)


def block(x, w, scale=1.0):
    return rg.tanh(x @ w * scale) * 2


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_any_order_are_those_of_the_function_itself(order):
    def checkpointed(x, w):
        return rg.checkpoint(block, x, w, scale=0.5)

    assert_close(checkpointed(rg.tensor(X), rg.tensor(W)), block(rg.tensor(X), rg.tensor(W), 0.5))
    check_gradients(checkpointed, (X, W), order=order)


@pytest.mark.parametrize("order", [1, 2])
def test_tensors_used_from_outside_receive_their_gradients(order):
    def f(x, w):
        inner = w * 2
        return rg.checkpoint(lambda v: block(v, inner) + rg.checkpoint(lambda u: rg.sin(u) @ w, v), x)

    check_gradients(f, (X, W), order=order)


def test_checkpoints_nest():
    def f(x):
        return rg.checkpoint(lambda v: rg.sin(rg.checkpoint(lambda u: rg.exp(rg.checkpoint(rg.tanh, u)), v)), x)

    check_gradients(f, X, order=3)


def test_the_function_runs_once_more_per_backward_and_not_before():
    calls = []

    def f(x):
        calls.append(1)
        return rg.sin(x) * x

    x = rg.tensor(X, requires_grad=True)
    y = rg.checkpoint(f, x)
    assert len(calls) == 1
    y.sum().backward()
    assert len(calls) == 2
    with rg.no_grad():
        rg.checkpoint(f, x)
    assert len(calls) == 3


def test_what_is_inside_is_not_kept():
    alive = []

    def f(x):
        inner = rg.exp(x)
        alive.append(weakref.ref(inner.data))
        return rg.exp(inner)

    x = rg.tensor(X, requires_grad=True)
    y = rg.checkpoint(f, x)
    assert alive[0]() is None
    y.sum().backward()
    assert_close(x.grad, np.exp(np.exp(X)) * np.exp(X))


def test_a_checkpointed_function_is_made_without_arguments():
    f = rg.checkpoint(block)
    assert f.__name__ == "block"
    check_gradients(f, (X, W))


@dataclass
class Pair:
    a: object
    b: object


def test_trees_go_in_and_out():
    def f(pair, extra):
        return {"sum": pair.a + pair.b, "rest": (extra["k"] * pair.a, "text", 3)}

    check_gradients(lambda x, y: rg.checkpoint(f, Pair(x, y), {"k": 2.0}), (X, X + 1))
    found = rg.checkpoint(f, Pair(rg.tensor(X, requires_grad=True), rg.tensor(X)), {"k": 2.0})
    assert found["rest"][1:] == ("text", 3)


def test_outputs_that_need_no_gradient_and_unused_outputs_are_fine():
    x = rg.tensor(X, requires_grad=True)
    used, unused, constant = rg.checkpoint(lambda v: (v * 2, v * 3, rg.argmax(v)), x)
    assert not constant.requires_grad
    assert unused.requires_grad
    used.sum().backward()
    assert_close(x.grad, np.full((2, 3), 2.0))


def test_an_output_that_is_an_input_passes_the_gradient_on():
    x = rg.tensor(X, requires_grad=True)
    same, doubled = rg.checkpoint(lambda v: (v, v * 2), x)
    (same + doubled).sum().backward()
    assert_close(x.grad, np.full((2, 3), 3.0))


def test_a_leaf_from_outside_alone_is_enough():
    w = rg.tensor(W, requires_grad=True)
    rg.checkpoint(lambda v: block(v, w), rg.tensor(X)).sum().backward()
    expected = rg.grad(lambda w: block(rg.tensor(X), w).sum())(rg.tensor(W))
    assert_close(w.grad, expected)


def test_hooks_of_outer_values_are_called_once():
    seen = []
    x = rg.tensor(X, requires_grad=True)
    y = x * 1.0
    y.register_hook(lambda g: seen.append(1))
    rg.checkpoint(rg.sin, y).sum().backward()
    assert seen == [1]


def test_a_chain_of_checkpoints_accumulates_like_the_chain():
    def layer(x):
        return rg.sin(x) + x

    def f(x):
        for _ in range(6):
            x = rg.checkpoint(layer, x)
        return x

    check_gradients(f, X)


def test_random_numbers_are_drawn_again_as_they_were():
    x = rg.tensor(np.ones(1000), requires_grad=True)
    rg.manual_seed(3)
    y = rg.checkpoint(lambda v: rg.nn.functional.dropout(v * 1.0, 0.5), x)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.data, y.data)


def test_writing_to_an_input_afterwards_is_refused():
    x = rg.tensor(X, requires_grad=True)
    v = x * 1.0
    y = rg.checkpoint(rg.sin, v)
    v += 1
    with pytest.raises(rg.errors.InplaceError):
        y.sum().backward()


def _written_after(x, scale, compute):
    """The gradient in `x` of what `compute` makes of a function of `x` and `scale`, which is written to before the way back."""
    def value(x):
        y = compute(lambda v: rg.sin(v * scale), x)
        with rg.no_grad():
            scale.__imul__(10)
        return y.sum()

    return rg.grad(value)(x)


def test_writing_to_what_the_function_reads_from_outside_afterwards_is_refused():
    with pytest.raises(rg.errors.InplaceError, match="checkpoint runs its function again, where multiply reads an array"):
        _written_after(X[0], rg.tensor([1.0, 2.0, 3.0]), rg.checkpoint)


@pytest.mark.parametrize("is_made_inside", [True, False])
@pytest.mark.parametrize("is_vmapped", [True, False])
def test_compiled_code_computes_again_from_what_was_there(is_made_inside, is_vmapped):
    outside, factors = rg.tensor([1.0, 2.0, 3.0], dtype="float64"), np.array([1.0, 3.0])

    def of_one(x, factor):
        return _written_after(x * factor, outside * 1 if is_made_inside else outside, rg.checkpoint)

    if is_vmapped:
        found = rg.jit(lambda x: rg.vmap(of_one, in_axes=(None, 0))(x, factors))(X[0])
    else:
        found = np.stack([rg.jit(of_one)(X[0], np.asarray(f)) for f in factors])
    scales = np.array([1.0, 2.0, 3.0])
    if not is_made_inside and not is_vmapped:
        scales = np.stack([scales, scales * 10])
    assert_close(found, np.cos(X[0] * factors[:, None] * scales) * scales)


def test_function_returned_from_compiled_code_computes_again_from_what_was_there():
    outside, weight = rg.tensor([1.0, 2.0, 3.0]), rg.ones(3).requires_grad_()

    @rg.jit
    def f(x):
        y = rg.checkpoint(lambda v: rg.sin(v * outside) * weight, x)
        outside.__imul__(10)
        return y

    f(rg.tensor(X[0])).sum().backward()
    assert_close(weight.grad, np.sin(X[0] * [1, 2, 3]), check_dtype=False)


@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit])
def test_running_statistics_move_once(compiled):
    norms = [rg.nn.BatchNorm1d(3, dtype="float64") for _ in range(2)]
    rg.nn.functional.mse_loss(norms[0](rg.tensor(X)), rg.zeros((2, 3))).backward()
    compiled(lambda x: rg.checkpoint(norms[1], x).sum().backward())(rg.tensor(X))
    for name, buffer in norms[0].named_buffers():
        assert_close(norms[1].get_buffer(name), buffer)


def _layers(count, size):
    rng = np.random.default_rng(0)
    return [rg.tensor(rng.standard_normal((size, size)) / np.sqrt(size), requires_grad=True) for _ in range(count)]


def _deep(x, weights, how):
    def part(x, *weights):
        for w in weights:
            x = rg.tanh(x @ w)
        return x

    for i in range(0, len(weights), 4):
        x = how(part, x, *weights[i : i + 4])
    return (x * x).sum()


def _plainly(function, *args):
    return function(*args)


def test_compiled_code_keeps_less_too_and_has_the_same_gradients():
    weights, x, gradients, sizes = _layers(16, 16), rg.tensor(np.random.default_rng(1).standard_normal((400, 16))), [], []
    for how in (_plainly, rg.checkpoint):
        @rg.jit
        def step(x, how=how):
            for w in weights:
                w.grad = None
            loss = _deep(x, weights, how)
            loss.backward()
            return loss

        step(x)
        sizes.append(step.explain().arena_bytes)
        gradients.append([w.grad.numpy() for w in weights])
    assert sizes[1] < 0.7 * sizes[0]
    for one, other in zip(*gradients, strict=True):
        assert_close(one, other)


def test_compiled_checkpoints_can_be_differentiated_again():
    def f(x, how):
        return how(lambda v, w: rg.tanh(v @ w.T), how(lambda v, w: rg.sin(v @ w), X @ x, W), W).sum()

    x = np.linspace(-1, 1, 9).reshape(3, 3)
    wanted = rg.hessian(lambda x: f(x, _plainly))(x)
    assert_close(rg.jit(rg.hessian(lambda x: f(x, rg.checkpoint)))(x), wanted)


DERIVATIVES = {
    "grad": rg.grad(lambda x: rg.sin(x * x).sum()), "jvp": lambda x: rg.jvp(rg.sin, (x,), (x,))[1],
    "vjp": lambda x: rg.vjp(rg.sin, x)[1](x)[0], "hessian": lambda x: rg.hessian(lambda x: rg.sin(x).sum())(x) @ x,
    "jacfwd": lambda x: rg.jacfwd(rg.sin)(x) @ x, "vmap of grad": lambda x: rg.vmap(rg.grad(rg.sin))(x),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_within_a_checkpoint(name):
    def f(x, how):
        return how(lambda x: x * DERIVATIVES[name](x), x).sum()

    x = np.array([0.3, -0.8])
    wanted = rg.grad(lambda x: f(x, _plainly))(x)
    assert_close(rg.grad(lambda x: f(x, rg.checkpoint))(x), wanted)
    assert_close(rg.jit(rg.grad(lambda x: f(x, rg.checkpoint)))(x), wanted)

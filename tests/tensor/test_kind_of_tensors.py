"""Kinds of tensors: what is made of a tensor of a kind is of that kind, by whatever way it is computed."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.value import Value


class Special(rg.Tensor):
    """A kind of tensor of a user's."""

    __slots__ = ()


Special.kind = Special


def special(*numbers, requires_grad=False):
    return Special(np.array(numbers, np.float32)).requires_grad_(requires_grad)


OPS = {
    "unary": rg.sin, "binary": lambda x: x + rg.ones(3), "reflected": lambda x: rg.ones(3) + x, "number": lambda x: 2 - x,
    "single": lambda x: rg.sum(x, 0), "general": lambda x: rg.cumsum(x, 0), "variadic": lambda x: rg.concat([rg.ones(2), x]),
    "stack": lambda x: rg.stack([x, x]), "composite": lambda x: rg.softmax(x, 0), "view": lambda x: x[1:], "reshape": lambda x: x.reshape(3, 1),
    "several": lambda x: rg.topk(x, 2)[0], "detach": lambda x: x.detach(), "clone": lambda x: x.clone(), "cast": lambda x: x.astype(rg.float64),
    "where": lambda x: rg.where(x > 0, x, 0.0), "module": lambda x: rg.nn.Linear(3, 2)(x), "loss": lambda x: rg.nn.functional.mse_loss(x, rg.ones(3)),
}


@pytest.mark.parametrize("needs_gradient", [False, True])
@pytest.mark.parametrize("name", OPS)
def test_results_are_of_the_kind_of_the_operands(name, needs_gradient):
    assert OPS[name](special(1, -2, 3, requires_grad=needs_gradient)).__class__ is Special


@pytest.mark.parametrize("name", OPS)
def test_results_in_a_trace_are_of_the_kind_of_the_operands(name):
    seen = []

    @rg.jit
    def f(x):
        y = OPS[name](x)
        seen.append((x.kind, y.kind, isinstance(y, Special)))
        return y

    x = special(1, -2, 3)
    assert f(x).__class__ is f(x).__class__ is Special
    assert set(seen) == {(Special, Special, True)}
    assert f(rg.tensor([1.0, 2.0, 3.0])).__class__ is rg.Tensor
    assert f(np.ones(3, np.float32)).__class__ in (np.ndarray, np.float32, rg.Tensor)
    assert f(x).__class__ is Special


def test_gradients_are_of_the_kind_of_what_they_belong_to():
    x, y = special(1, 2, requires_grad=True), rg.tensor([1.0, 2.0], requires_grad=True)
    for create_graph in (False, True, True):
        (x * y).sum().backward(create_graph=create_graph)
        assert (x.grad.__class__, y.grad.__class__) == (Special, rg.Tensor)


def test_gradients_of_a_compiled_step_are_of_the_kind_of_what_they_belong_to():
    x, seen = special(1, 2, requires_grad=True), []

    @rg.jit
    def step():
        (x * x).sum().backward()
        seen.append(x.grad.kind)

    for _ in range(3):
        x.grad = None
        step()
        assert x.grad.__class__ is Special and x.grad.tolist() == [2, 4]
    assert seen == [Special]


def test_transforms_hand_on_the_kind():
    seen = []

    def f(x):
        seen.append(x.kind)
        return (x * x).sum()

    x = special(1, 2, 3)
    assert rg.grad(f)(x).__class__ is Special
    assert rg.value_and_grad(f)(x)[0].__class__ is Special
    assert rg.jit(rg.grad(f))(x).__class__ is Special
    assert rg.vmap(f)(x.reshape(3, 1)).__class__ is Special
    assert rg.vmap(rg.grad(f))(x.reshape(3, 1)).__class__ is Special
    assert rg.jit(rg.vmap(rg.grad(f)))(x.reshape(3, 1)).__class__ is Special
    assert rg.hessian(f)(x).__class__ is Special
    assert rg.jvp(f, (x,), (x,))[1].__class__ is Special
    assert rg.jacfwd(f)(x).__class__ is Special
    assert rg.checkpoint(lambda x: rg.sin(x), special(1, requires_grad=True)).__class__ is Special
    assert set(seen) == {Special}


def test_a_function_sees_gradients_of_the_kind_of_its_outputs():
    seen = []

    class Twice(rg.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            seen.append((g.kind, ctx.saved_tensors[0].kind))
            return g * 2

    x = special(1, 2, requires_grad=True)
    y = Twice.apply(x)
    assert y.__class__ is Special
    y.sum().backward()
    Twice.apply(x).sum().backward(create_graph=True)
    assert seen == [(Special, Special)] * 2


def test_a_view_in_a_trace_is_of_its_kind_and_follows_its_base():
    @rg.jit
    def f(x):
        y = x * 1
        row = y[0]
        y[0, 1] = 5.0
        assert isinstance(row, Special) and isinstance(row, Value)
        return row, y

    row, y = f(special(1, 2).reshape(1, 2))
    assert (row.__class__, y.__class__, row.tolist(), y.tolist()) == (Special, Special, [1.0, 5.0], [[1.0, 5.0]])


def test_a_lazy_block_computes_other_kinds_at_once():
    with rg.lazy():
        x = special(1, 2)
        assert (x + rg.ones(2)).sum().__class__ is Special

"""A Function in a vmap has derivatives from outside as well, by its own rule for all examples."""

import numpy as np
import pytest

import retrograde as rg

X, W = np.linspace(-2, 2, 9).reshape(3, 3), np.arange(1.0, 4.0)


class Scaled(rg.Function):
    """`x * w * k`, and the sum of `x`; `k` is a number, and what `backward` reads is kept in both ways."""

    @staticmethod
    def forward(ctx, x, w, k):
        ctx.save_for_backward(x)
        ctx.k, ctx.weight = k, w
        return x * w * k, x.sum()

    @staticmethod
    def backward(ctx, g, h):
        (x,) = ctx.saved_tensors
        return g * ctx.weight * ctx.k + h, g * x * ctx.k, None


class Halved(rg.Function):
    """A Function whose derivative is not that of what it computes."""

    @staticmethod
    def forward(ctx, x):
        return x**3

    @staticmethod
    def backward(ctx, g):
        return g / 2


def _of_ops(x, w, k):
    return x * w * k, x.sum()


def _looped(f, row, w):
    return rg.scan(lambda a, b: (a * 0.3 + f(b * a, w, 2.0)[0].sum(), a), row.sum(), row)[0]


def _total(f, x, w):
    return sum([(part**2).sum() for part in rg.vmap(lambda row: f(row, w, 2.0))(x)])


def _twice(f, x, w):
    return sum([(g**2).sum() for g in rg.grad(lambda x, w: _total(f, x, w), argnums=(0, 1))(x, w)])


def _inside(f, x, w):
    return (rg.vmap(rg.grad(lambda row, w: f(row, w, 2.0)[0].prod(), argnums=1), in_axes=(0, None))(x, w) ** 2).sum()


@pytest.mark.parametrize("call", [
    lambda f: rg.grad(lambda x, w: _total(f, x, w), argnums=(0, 1)),
    lambda f: rg.grad(lambda x, w: _twice(f, x, w), argnums=(0, 1)),
    lambda f: rg.grad(lambda x, w: _inside(f, x, w), argnums=(0, 1)),
    lambda f: rg.grad(lambda x, w: _total(f, x, w[0]), argnums=(0, 1)),
    lambda f: rg.grad(lambda x, w: (rg.vmap(lambda row: f(w, w, 2.0)[0] * row)(x) ** 2).sum(), argnums=(0, 1)),
    lambda f: rg.vmap(rg.grad(lambda row, w: _looped(f, row, w), argnums=(0, 1)), in_axes=(0, None)),
    lambda f: rg.grad(lambda x, w: rg.vmap(lambda row: _looped(f, row, w))(x).sum(), argnums=(0, 1)),
], ids=["outside", "twice", "inside and outside", "broadcast", "the same for all", "a scan", "outside a scan"])
def test_derivatives_of_a_function_in_vmap_are_those_of_what_it_computes(call):
    arguments = rg.tensor(X), rg.tensor(W)
    expected = call(_of_ops)(*arguments)
    for found in (call(Scaled.apply)(*arguments), rg.jit(call(Scaled.apply))(*arguments)):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10)


def test_the_rule_of_a_function_in_vmap_holds_outside():
    found = rg.grad(lambda x: rg.vmap(lambda row: Halved.apply(row).sum())(x).sum())(X)
    np.testing.assert_array_equal(found, np.full_like(X, 0.5))

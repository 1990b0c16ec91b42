"""An op of your own, in three ways: registered in one block, as a Function, and as plain composition."""

import numpy as np

import retrograde as rg


@rg.ops.elementwise(samples=rg.ops.uniform(-3, 3))
def bump(x, /):
    r"""The bell $e^{-x^2}$.

    $z = e^{-x^2} \;\Rightarrow\; \bar x = -2 \bar z\, x z$
    """
    return np.exp(-x * x)


# The rule reads `x` and the result `z`; being made of ops, it can be differentiated again.
bump.defvjp(lambda g, x, z: -2 * g * x * z)


class ClippedGradient(rg.Function):
    """The identity, whose gradient is kept within a bound."""

    @staticmethod
    def forward(ctx, x, bound):
        ctx.bound = bound
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g.clip(-ctx.bound, ctx.bound), None


def composed(x):
    """The same bell, made of ops that exist: slower, with nothing to get wrong."""
    return rg.exp(-x * x)


def main():
    """Check the ops against finite differences and use them."""
    x = np.linspace(-2, 2, 5)
    rg.testing.check_gradients(bump, x, order=2)
    print("bump   ", np.round(rg.grad(lambda x: bump(x).sum())(x), 4))
    print("ops    ", np.round(rg.grad(lambda x: composed(x).sum())(x), 4))

    t = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (ClippedGradient.apply(t, 3.0) ** 2).sum().backward()
    print("clipped", t.grad.numpy())


if __name__ == "__main__":
    main()

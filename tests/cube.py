"""A function of a user's, with a derivative of its own, for tests of whatever meets one."""

import retrograde as rg


class Cube(rg.Function):
    """The third power."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x * x

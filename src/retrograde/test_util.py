"""Checks of derivatives by the names of autograd.test_util."""

from functools import partial

from .testing.gradients import check_gradients


def check_grads(function, modes=("fwd", "rev"), order=2):
    """The function of the arguments at which derivatives of `function` up to `order` are compared with finite differences.

    There is one set of rules, so `modes` makes no difference.

    >>> rg.test_util.check_grads(rg.sin)(1.0)
    """
    return lambda *args, **kwargs: check_gradients(partial(function, **kwargs), args, order)

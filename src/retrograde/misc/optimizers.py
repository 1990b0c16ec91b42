"""Optimizers as functions: `adam(gradient, start)` returns what it arrives at. Values may be trees of arrays.

`gradient(x, i)` is the gradient at `x` in step number `i`; `callback(x, i, gradient)` is called before each step. For
optimizers as objects, with parameter groups and compiled steps, see `rg.optim`.
"""

from functools import wraps

import numpy as np

from .flatten import flatten


def _of_trees(optimize):
    """`optimize`, which works on vectors, for trees."""

    @wraps(optimize)
    def optimize_tree(gradient, start, callback=None, *args, **kwargs):
        vector, unflatten = flatten(start)
        told = callback and (lambda x, i, g: callback(unflatten(x), i, unflatten(g)))
        found = optimize(lambda x, i: flatten(gradient(unflatten(x), i))[0], vector, told, *args, **kwargs)
        return unflatten(found)

    return optimize_tree


def _steps(gradient, x, callback, count, step):
    """`x` after `count` times `step(gradient, i)` was taken from it."""
    for i in range(count):
        g = gradient(x, i)
        if callback:
            callback(x, i, g)
        x = x - step(g, i)
    return x


@_of_trees
def sgd(gradient, start, callback=None, num_iters=200, step_size=0.1, mass=0.9):
    """Stochastic gradient descent; the direction is a running mean with the factor `mass`.

    >>> rg.misc.optimizers.sgd(lambda x, i: 2 * x, np.array([1.0])).round(6)
    array([-2.e-06])
    """
    direction = np.zeros(len(start))

    def step(g, _):
        nonlocal direction
        direction = mass * direction + (1 - mass) * g
        return step_size * direction

    return _steps(gradient, start, callback, num_iters, step)


@_of_trees
def rmsprop(gradient, start, callback=None, num_iters=100, step_size=0.1, gamma=0.9, eps=1e-8):
    """Steps divided by the root of a running mean of the squared gradient, which begins at 1."""
    scale = np.ones(len(start))

    def step(g, _):
        nonlocal scale
        scale = gamma * scale + (1 - gamma) * g**2
        return step_size * g / (np.sqrt(scale) + eps)

    return _steps(gradient, start, callback, num_iters, step)


@_of_trees
def adam(gradient, start, callback=None, num_iters=100, step_size=0.001, b1=0.9, b2=0.999, eps=1e-8):
    """Adam (Kingma and Ba, 2015)."""
    first, second = np.zeros(len(start)), np.zeros(len(start))

    def step(g, i):
        nonlocal first, second
        first, second = b1 * first + (1 - b1) * g, b2 * second + (1 - b2) * g**2
        return step_size * (first / (1 - b1 ** (i + 1))) / (np.sqrt(second / (1 - b2 ** (i + 1))) + eps)

    return _steps(gradient, start, callback, num_iters, step)

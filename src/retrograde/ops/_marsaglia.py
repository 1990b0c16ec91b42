"""Gamma distributed numbers by Marsaglia and Tsang's method, in rounds: who is rejected in one proposes again in the next."""

import numpy as np

from ..dtypes import float64
from .random import random_normal, random_uniform

# Each round rejects at most one proposal in twenty, so that the chance to be left after the last one is below 1e-20.
_ROUNDS = 16


def words_of_gamma(count):
    """How many words of a stream `count` gamma distributed numbers are made of."""
    return 4 * (_ROUNDS * 2 * _blocks(count) + _blocks(count))


def _blocks(count):
    """The blocks of four words from which `count` numbers of float64 are made: two words each."""
    return -(-(count + count % 2) // 2)


def standard_gamma(state, a):
    """A number for each shape in the array `a`, of its dtype; NaN where the shape is not positive."""
    shape = a.reshape(-1).astype(float64)
    # A shape below 1 is reached from the next one.
    result = _from_one_up(state, shape + (shape < 1))
    chance = random_uniform(_after(state, 2 * _ROUNDS * _blocks(shape.size)), (shape.size,), float64)
    with np.errstate(all="ignore"):
        result = np.where(shape < 1, result * (1 - chance) ** (1 / shape), result)
        result = np.where(shape > 0, result, np.nan).astype(a.dtype)
    # No number is 0: logarithms and quotients of samples are finite.
    return np.maximum(result, _least(a.dtype)).reshape(a.shape)


def _least(dtype):
    return np.finfo(dtype).tiny if dtype.kind == "f" else np.asarray(1e-38, dtype)


def _from_one_up(state, shape):
    step, offset = _blocks(shape.size), shape - 1 / 3
    result, waiting = offset.copy(), np.arange(shape.size)
    for number in range(_ROUNDS):
        d = offset[waiting]
        normal = random_normal(_after(state, 2 * number * step), d.shape, float64)
        chance = 1 - random_uniform(_after(state, (2 * number + 1) * step), d.shape, float64)
        with np.errstate(all="ignore"):
            cube = (1 + normal / np.sqrt(9 * d)) ** 3
            is_taken = (cube > 0) & (np.log(chance) < normal * normal / 2 + d * (1 - cube + np.log(cube)))
        result[waiting[is_taken]] = (d * cube)[is_taken]
        waiting = waiting[~is_taken]
        if not waiting.size:
            break
    return result


def _after(state, blocks):
    return state + np.array([0, blocks], state.dtype)

"""Gamma distributed numbers by Marsaglia and Tsang's method, in rounds: who is rejected in one proposes again in the next."""

import numpy as np

from ..dtypes import float64
from ._streams import NORMAL, UNIFORM, numbers_alone

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
    chance = _drawn(UNIFORM, state, 2 * _ROUNDS * _blocks(shape.size), shape.size)
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
        normal = _drawn(NORMAL, state, 2 * number * step, d.size)
        chance = 1 - _drawn(UNIFORM, state, (2 * number + 1) * step, d.size)
        with np.errstate(all="ignore"):
            cube = (1 + normal / np.sqrt(9 * d)) ** 3
            is_taken = (cube > 0) & (np.log(chance) < normal * normal / 2 + d * (1 - cube + np.log(cube)))
        result[waiting[is_taken]] = (d * cube)[is_taken]
        waiting = waiting[~is_taken]
        if not waiting.size:
            break
    return result


def _drawn(kinds, state, skip, count):
    """Numbers of float64 from the state's stream, so many blocks further on."""
    key, block = state
    return numbers_alone(kinds[float64], int(key), int(block) + skip, count)

r"""The phase of complex vectors, which a factorization leaves free: the largest element of each is real.

LAPACK turns the vectors of `geev` so. Those of `heevd` and `gesdd` have whatever phase the steps before gave them, which is not
even continuous. With one element held real each is a function of the matrix, and what depends on the phase has a derivative.
"""

import numpy as np

from ..axes.reductions import sum
from ..axes.searches import argmax
from ..complexes import adjoint, imag, real
from ..elementary.arithmetic import abs, mirrored
from ..elementary.comparisons import where
from ..manipulation.gathering import take_along_axis
from ..manipulation.movements import expand_dims


def turned(vectors, rows=None):
    """Arrays: `vectors`, as columns, each times a number of length 1 that makes its largest element real and positive.

    The `rows` that go with them are turned the other way, so that the product of the two stays; a pair is returned then.
    """
    if vectors.dtype.kind != "c" or not vectors.size:
        return vectors if rows is None else (vectors, rows)
    place = np.argmax(np.abs(vectors), -2, keepdims=True)
    largest = np.take_along_axis(vectors, place, -2)
    phases = np.conj(largest) / np.abs(largest)
    vectors = vectors * phases
    # Exactly real, by which the derivative finds the element again.
    np.put_along_axis(vectors, place, np.abs(largest), -2)
    return vectors if rows is None else (vectors, rows * np.conj(np.swapaxes(phases, -1, -2)))


def held(gradient, vectors):
    """The gradient of `vectors`, complex or not, one element of each of which is held real."""
    if vectors.dtype.kind != "c" or not vectors.size:
        return gradient
    return gradient + _by_turning(vectors, _turn(gradient, vectors))


def held_pairs(of_u, of_vh, u, vh):
    """The gradient of left vectors, where the pairs of vectors turn together so that an element of the left one is held real."""
    if u.dtype.kind != "c" or not u.size or of_u is None and of_vh is None:
        return of_u
    turn = 0 if of_u is None else _turn(of_u, u)
    if of_vh is not None:
        turn = turn + _turn(adjoint(of_vh), adjoint(vh))
    return _by_turning(u, turn) + (0 if of_u is None else of_u)


def _turn(gradient, vectors):
    r"""How much a result changes as each of `vectors` is turned: $\operatorname{Im}(\bar v^H v)$, of a gradient as users see it."""
    return sum(imag(mirrored(gradient) * vectors), -2)


def _by_turning(vectors, turn):
    r"""What turning adds to the gradient of `vectors`: $i\, t / v_k$ at the element $k$ that is held real, 0 elsewhere.

    Vectors whose phase is free may change by $w$; held, they change by $w - i\, v \operatorname{Im}(w_k) / v_k$.
    """
    place = argmax(where(imag(vectors) == 0, abs(real(vectors)), -1), -2, keepdims=True)
    change = expand_dims(turn, -2) / take_along_axis(real(vectors), place, -2)
    return 1j * where(place == np.arange(vectors.shape[-2])[:, None], change, 0)

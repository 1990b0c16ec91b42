"""Which ops are analytic: found by trying each on complex numbers, by the equations of Cauchy and Riemann."""

from functools import cache

import numpy as np

import retrograde as rg
from retrograde.dtypes import is_float
from retrograde.errors import RetrogradeError
from tests import sweeping

from .program import names_in

#: Names in programs that are no ops: each is made of the ops on its right, or takes any numbers as they are.
OTHERS = {
    "asarray": (), "reshape": (), "swapaxes": (), "einsum": ("matmul",), "outer": ("multiply",), "unstack": (), "eye": (), "array": (), "zeros": (),
}


def is_analytic(text):
    """Whether all that a program calls is analytic."""
    return all(_is_analytic(name) for name in names_in(text))


@cache
def _is_analytic(name):
    if name not in rg.ops.names():
        return OTHERS.get(name) is not None and all(map(_is_analytic, OTHERS[name]))
    op = rg.ops.get(name)
    try:
        tried = [_obeys(op, case) for case in sweeping.cases(op)]
    except (RetrogradeError, TypeError, ValueError, np.linalg.LinAlgError):
        return False
    return any(tried) and None not in tried


def _obeys(op, case, step=1e-5):
    """Whether an op moves by i times as much for an imaginary step; None if it does not, False if the case tells nothing."""
    args, kwargs = case.drawn(np.float64)
    operands = case.operands(args)
    if case.fixes_dtype or not operands or not all(np.size(x) for x in operands):
        return False
    rng = np.random.default_rng(case.seed)
    ways = [rng.uniform(0.5, 1, np.shape(x)) for x in operands]

    def at(size):
        given = [rg.asarray(x + 0.01j + size * way) for x, way in zip(operands, ways, strict=True)]
        found = sweeping.results(op.call(*case.rebuilt(args, given), **kwargs))
        return [np.asarray(z, "complex128") for z in sweeping.plain(found) if is_float(z.dtype)]

    real, imaginary = ([(a - b) / (2 * step) for a, b in zip(at(h), at(-h), strict=True)] for h in (step, step * 1j))
    if not real:
        return False
    is_equal = all(np.allclose(b, 1j * a, rtol=1e-5, atol=1e-6, equal_nan=True) for a, b in zip(real, imaginary, strict=True))
    return True if is_equal else None

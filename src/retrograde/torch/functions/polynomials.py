"""Orthogonal polynomials of a degree for each element, by their recurrences; they have no derivative here, nor in PyTorch."""

import numpy as np

from ...core.value import Value
from ...errors import GraphError
from .. import kinds

__all__ = ["chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
           "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
           "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
           "shifted_chebyshev_polynomial_w"]

#: For each family the polynomial of degree 1, and that of degree k + 1 of the two before it.
_CHEBYSHEV = (lambda x, k, p, q: 2 * x * p - q)
_FAMILIES = {
    "chebyshev_polynomial_t": (lambda x: x, _CHEBYSHEV), "chebyshev_polynomial_u": (lambda x: 2 * x, _CHEBYSHEV),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _CHEBYSHEV), "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _CHEBYSHEV),
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, p, q: 2 * (x * p - k * q)),
    "hermite_polynomial_he": (lambda x: x, lambda x, k, p, q: x * p - k * q),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}


def _array(x, name):
    if isinstance(x, Value):
        if x.requires_grad:
            raise GraphError(f"torch.special.{name} has no derivative; pass x.detach()")
        return x.numpy()
    return x


def _polynomial(name, first, after, shift=False):
    def polynomial(input, n):
        dtype = kinds.result_type(input, n)
        dtype = dtype if kinds.is_floating(dtype) else kinds.default_dtype()
        x, degrees = np.broadcast_arrays(np.asarray(_array(input, name), dtype), np.asarray(_array(n, name)))
        x, degrees = (2 * x - 1 if shift else x), np.trunc(degrees)
        found = np.where(degrees < 0, 0, np.ones_like(x))
        before, now = np.ones_like(x), first(x)
        for k in range(1, int(degrees.max(initial=0)) + 1):
            found = np.where(degrees == k, now, found)
            before, now = now, after(x, k, now, before)
        return kinds.made(found.astype(dtype))

    polynomial.__name__, polynomial.__doc__ = name, f"`{name}` of degree `n` for each element; 0 for a negative degree."
    return polynomial


globals().update({name: _polynomial(name, *rules) for name, rules in _FAMILIES.items()})
globals().update({f"shifted_{name}": _polynomial(f"shifted_{name}", *_FAMILIES[name], shift=True)
                  for name in _FAMILIES if name.startswith("chebyshev")})

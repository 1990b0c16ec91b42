"""The exponential of matrices by scaling and squaring: Higham's method (2005), with the Padé approximant of order 13."""

import numpy as np

_PADE = (64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600, 670442572800,
         33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)
#: Up to this size (the 1-norm) the approximant is right to double precision.
_RADIUS = 5.371920351148152


def exponential(x):
    """The exponential of the matrices in the last two axes of a float array."""
    x = x.astype(np.float64) if x.dtype.kind in "iub" else x
    if x.size == 0:
        return x.copy()
    size = np.abs(x).sum(-2).max(-1)
    halvings = np.where(np.isfinite(size) & (size > _RADIUS), np.ceil(np.log2(np.maximum(size, _RADIUS) / _RADIUS)), 0).astype(int)
    result = _approximant(x / (2.0 ** halvings[..., None, None]).astype(x.real.dtype))
    for step in range(int(halvings.max(initial=0))):
        result = np.where((step < halvings)[..., None, None], result @ result, result)
    return result


def _approximant(x):
    b = [x.dtype.type(c) for c in _PADE]
    one = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    x2 = x @ x
    x4 = x2 @ x2
    x6 = x4 @ x2
    odd = x @ (x6 @ (b[13] * x6 + b[11] * x4 + b[9] * x2) + b[7] * x6 + b[5] * x4 + b[3] * x2 + b[1] * one)
    even = x6 @ (b[12] * x6 + b[10] * x4 + b[8] * x2) + b[6] * x6 + b[4] * x4 + b[2] * x2 + b[0] * one
    return np.linalg.solve(even - odd, even + odd)

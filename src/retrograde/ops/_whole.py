"""Sums of products of integers: exact, or an error where their dtype cannot hold them. NumPy lets them wrap."""

import numpy as np

from ..errors import DTypeError

#: Bounds are floats of double precision, and lie above what they bound by more than rounding takes from them.
_ABOVE = 1 + 2.0**-20


def exact(contracted, *arrays):
    """`contracted(*arrays)`, a sum of products; of integers it is computed in a dtype that holds all that is added up."""
    arrays = [x if hasattr(x, "dtype") else np.asarray(x) for x in arrays]
    dtype = np.result_type(*arrays)
    if dtype.kind not in "iu":
        return contracted(*arrays)
    bound = contracted(*[np.abs(np.asarray(x, np.float64)) for x in arrays]) * _ABOVE
    most = np.max(bound, initial=0)
    if most <= np.iinfo(dtype).max:
        return contracted(*arrays)
    wide = np.int64 if most <= np.iinfo(np.int64).max else object
    found = np.asarray(contracted(*[np.asarray(x, wide) for x in arrays]))
    least, greatest = found.min(), found.max()
    if least < np.iinfo(dtype).min or greatest > np.iinfo(dtype).max:
        most = greatest if greatest > np.iinfo(dtype).max else least
        raise DTypeError(f"a sum of products must fit its dtype {dtype}, and one is {most}; use a wider dtype, as by "
                         "x.astype(rg.int64), or floats")
    return found.astype(dtype)

"""Long elementwise computations in blocks that stay in cache, so that their temporaries take no memory bandwidth."""

import numpy as np

from ...dtypes import is_float

# Elements of a block: its temporaries fit the second-level cache.
BLOCK = 1 << 13


def in_blocks(table, x):
    """The function that `table` has for the dtype of `x`, applied to `x` block by block.

    A dtype that the table lacks is computed in float64, and the result is of the dtype of `x` if that is a float.
    """
    x = np.asarray(x) if not hasattr(x, "dtype") else x
    function = table.get(x.dtype.name, table["float64"])
    dtype = x.dtype if is_float(x.dtype) else np.float64
    if x.__class__ is np.ndarray:  # in its order in memory, as NumPy's own functions and compiled ones have it
        x = x.copy(order="K") if not (x.flags.c_contiguous or x.flags.f_contiguous) else x
        result = np.empty_like(x, dtype=dtype)
        source, target = x.ravel("K"), result.ravel("K")
    else:
        result = np.empty_like(x, dtype=dtype, order="C", subok=False)
        source, target = x.reshape(-1), result.reshape(-1)
    working = np.float64 if function is table["float64"] else np.float32
    with np.errstate(all="ignore"):
        for i in range(0, x.size, BLOCK):
            target[i : i + BLOCK] = function(source[i : i + BLOCK].astype(working, copy=False))
    return result

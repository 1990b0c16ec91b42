"""Whether numbers agree, shapes and dtypes included."""

import numpy as np

from .. import tree
from ..core.value import Value
from ..dtypes import is_float

# Relative and absolute tolerance by the number of bits in the fraction: what rounding alone may do.
_TOLERANCES = {7: (1.6e-2, 1e-5), 10: (1e-3, 1e-5), 23: (1.3e-6, 1e-6), 52: (1e-9, 1e-11)}


def assert_close(actual, expected, rtol=None, atol=None, check_dtype=True):
    """Raise an AssertionError unless `actual` agrees with `expected`: trees of tensors, arrays or numbers.

    Structure and shapes must be equal, dtypes as well unless one side is a Python number or `check_dtype` is False.
    NaN agrees with NaN. The tolerances follow from the less precise dtype unless they are given.

    >>> rg.testing.assert_close(rg.tensor([1.0, 2.0]) * 3, rg.tensor([3.0, 6.0]))
    """
    found, wanted = tree.leaves(actual), tree.leaves(expected)
    if len(found) != len(wanted):
        raise AssertionError(f"expected a tree of {len(wanted)} leaves, got {len(found)}")
    for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
        complaint = _difference(a, b, rtol, atol, check_dtype)
        if complaint:
            raise AssertionError(complaint if len(found) == 1 else f"leaf {number}: {complaint}")


def _difference(actual, expected, rtol, atol, check_dtype):
    """What is wrong with `actual`, in words; None if nothing is."""
    is_typed = hasattr(actual, "dtype") and hasattr(expected, "dtype")
    a, b = _array(actual), _array(expected)
    if a.shape != b.shape:
        return f"expected shape {b.shape}, got {a.shape}"
    if check_dtype and is_typed and a.dtype != b.dtype:
        return f"expected dtype {b.dtype}, got {a.dtype}"
    default_rtol, default_atol = tolerance([x.dtype for x in (actual, expected) if hasattr(x, "dtype")])
    rtol, atol = default_rtol if rtol is None else rtol, default_atol if atol is None else atol
    wide = np.complex128 if "c" in (a.dtype.kind, b.dtype.kind) else np.float64
    if is_float(a.dtype) or is_float(b.dtype):
        a, b = a.astype(wide), b.astype(wide)
    is_wrong = ~np.isclose(a, b, rtol, atol, equal_nan=True)
    if not is_wrong.any():
        return None
    with np.errstate(all="ignore"):
        gap = np.where(is_wrong, np.nan_to_num(np.abs(np.subtract(a, b, dtype=wide)), nan=np.inf), -1)
    worst = np.unravel_index(gap.argmax(), gap.shape)
    place = f" at index {tuple(map(int, worst))}" if a.ndim else ""
    return (f"expected {b[worst]}{place}, got {a[worst]}; {is_wrong.sum()} of {a.size} elements differ by more "
            f"than rtol={rtol}, atol={atol}")


def _array(x):
    return np.asarray(x.raw if isinstance(x, Value) else x)


def tolerance(dtypes):
    """The relative and absolute tolerance for numbers of these dtypes; Python numbers have none."""
    bits = [_fraction_bits(d) for d in dtypes if is_float(d)]
    if not bits:
        return (0, 0) if dtypes else _TOLERANCES[52]
    return _TOLERANCES.get(min(bits), _TOLERANCES[52])


def _fraction_bits(dtype):
    return np.finfo(dtype).nmant if dtype.kind in "fc" else 7

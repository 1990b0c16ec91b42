"""Rounding to whole numbers: one instruction, or additions where the processor has none.

The C library, which LLVM would call in its place, takes one number at a time, and exported programs have none.
"""

from .elements import dtype_of, is_float

#: From here on all numbers are whole, and the last digit of a sum with it is that of ones.
_WHOLE = {"float32": 2.0**23, "float64": 2.0**52}


def whole(k, name, x):
    """`x` rounded as LLVM calls it: "floor", "ceil", "trunc", or "rint", to the nearest, halves to even."""
    if not is_float(dtype_of(x)):
        return x
    if k.ir.module.target.rounds:
        return k.intrinsic(f"llvm.{name}", x)
    magnitude, limit = k.abs(x), _WHOLE[dtype_of(x)]
    # The sum is rounded to the nearest, as all are.
    nearest = k.subtract(k.add(magnitude, limit), limit)
    if name == "trunc":
        nearest = _less(k, nearest, k.greater(nearest, magnitude), 1)
    found = k.copysign(nearest, x)
    if name == "floor":
        found = _less(k, found, k.greater(found, x), 1)
    elif name == "ceil":
        found = _less(k, found, k.less(found, x), -1)
    # Zero has the sign of what it is made of. Large numbers, infinities and NaN stay as they are.
    return k.where(k.less(magnitude, limit), k.copysign(found, x), x)


def _less(k, x, mask, amount):
    """`x`, less an amount where a mask holds."""
    return k.where(mask, k.subtract(x, amount), x)

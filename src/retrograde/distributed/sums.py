"""Sums of arrays in the order in which they come, which has the same bits everywhere."""

import numpy as np

#: So many bytes are added up at once, so that they are divided while they are in the cache.
_BLOCK = 2**16


def in_order(parts, out=None, divisor=1):
    """The sum of arrays, one after the other, divided, in `out` if that is given; numbers of two bytes in single precision, rounded
    once.
    """
    dtype = parts[0].dtype
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        total = parts[0].astype(np.float32)
    elif out is not None and len(parts) > 1:
        total, parts = np.add(parts[0], parts[1], out=out), parts[1:]
    else:
        total = parts[0].copy()
    for part in parts[1:]:
        total += part
    if divisor != 1:
        total /= divisor
    return total.astype(dtype, copy=False)


def write_sums(parts, results, divisor):
    """Write the sum of vectors, divided, to contiguous arrays, one after the other."""
    at, step = 0, _BLOCK // parts[0].itemsize
    for result in results:
        out = result.reshape(-1)
        for i in range(0, out.size, step):
            block = out[i : i + step]
            found = in_order([x[at + i : at + i + block.size] for x in parts], block, divisor)
            if found is not block:
                block[...] = found
        at += out.size

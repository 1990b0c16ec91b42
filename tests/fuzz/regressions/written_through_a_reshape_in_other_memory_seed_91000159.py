# seed 91000159, jit of other memory: different, result 0 by 6: got [[1. 0.5] [1. 0. ]], wanted [[-1. 0.5] [-5. 0. ]]
import numpy as np
import retrograde as rg


def program(x0, x3):
    v3 = x3 + x0
    v3.reshape(-1)[::2] = 1
    return v3,


inputs = (
    np.array([[-0.5, -1.0], [-2.0, -2.0]], 'float64'),  # x0
    np.array([[-0.5, 1.5], [-3.0, 2.0]], 'float64'),  # x3
)

def other(x, k):
    """Another example like `x`: numbers that are smaller, integers in another order, so that positions and labels stay in range."""
    return (x * (1, 0.75, 0.5)[k]).astype(x.dtype) if x.dtype.kind in "fcV" else np.roll(x, k)

def in_other_memory(x):
    """A tensor of the numbers of `x` that has them last axis first, and every second of an array."""
    wide = x
    for axis in range(x.ndim):
        wide = np.repeat(wide, 2, axis)
    return rg.asarray(np.asfortranarray(wide)[(slice(None, None, 2),) * x.ndim] if x.ndim else x)


wanted = rg.tree.leaves(program(*map(in_other_memory, inputs)))
got = rg.tree.leaves(rg.jit(program)(*map(in_other_memory, inputs)))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

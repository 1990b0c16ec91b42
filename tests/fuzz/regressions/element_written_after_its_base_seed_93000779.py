# seed 93000779, jit of branch: different, AttributeError: 'Tensor' object has no attribute 'is_shared'
import numpy as np
import retrograde as rg


def program(x0):
    w0 = x0.T * 1
    w1 = w0.reshape(-1)
    w3 = w1[-2]
    w1.fill_(2)
    w3[...] = 0.5
    v0 = w0 + w3
    return v0,


inputs = (
    np.array([1.0, -0.3], 'float64'),  # x0
)

tensors = tuple(map(rg.tensor, inputs))

def other(x, k):
    """Another example like `x`: numbers that are smaller, integers in another order, so that positions and labels stay in range."""
    return (x * (1, 0.75, 0.5)[k]).astype(x.dtype) if x.dtype.kind in "fcV" else np.roll(x, k)

def branched(function):
    """`function`, which another branch stands beside."""
    def of_flag(flag, *x):
        return rg.cond(flag, lambda: tuple(function(*x)), lambda: tuple(map(rg.zeros_like, function(*x))))
    return of_flag


wanted = rg.tree.leaves(program(*tensors))
got = rg.tree.leaves(rg.jit(branched(program))(rg.tensor(True), *tensors))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

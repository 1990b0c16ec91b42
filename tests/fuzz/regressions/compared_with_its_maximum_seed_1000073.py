# seed 1000073, jit: different, result 0 by 1.2: got [[ 1.2 -0.9]], wanted [[-0.  -0.9]]
import numpy as np
import retrograde as rg


def program(x2):
    v2 = rg.sign((x2 * x2) - rg.max((x2 * x2), axis=None, keepdims=True)) * x2
    return v2,


inputs = (
    np.array([[-1.2, 0.9]], 'float64'),  # x2
)

tensors = tuple(map(rg.tensor, inputs))


wanted = rg.tree.leaves(program(*tensors))
got = rg.tree.leaves(rg.jit(program)(*tensors))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

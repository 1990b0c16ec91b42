# seed 92, jit: different, result 0 by 0.5: got [[0.5 0. ] [0.5 0.5]], wanted [[1.  0. ] [0.5 0.5]]
import numpy as np
import retrograde as rg


def program(x1):
    v2 = x1.T * 1
    v2.reshape(-1)[::2] = 0.5
    return v2,


inputs = (
    np.array([[1.0, 0.5], [0.0, 0.5]], 'float64'),  # x1
)

tensors = tuple(map(rg.tensor, inputs))


wanted = rg.tree.leaves(program(*tensors))
got = rg.tree.leaves(rg.jit(program)(*tensors))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

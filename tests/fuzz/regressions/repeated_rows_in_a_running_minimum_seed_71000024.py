# seed 71000024, jit: different, result 0 by 1.4: got [[0.] [0.] [0.] [0.]], wanted [[1.4] [1.4] [0.3] [0.3]]
import numpy as np
import retrograde as rg


def program(x1):
    v3 = rg.repeat(x1, 2, axis=-2)
    v4 = rg.cummin(v3, axis=1)[0]
    return v4,


inputs = (
    np.array([[1.4], [0.3]], 'float64'),  # x1
)

tensors = tuple(map(rg.tensor, inputs))


wanted = rg.tree.leaves(program(*tensors))
got = rg.tree.leaves(rg.jit(program)(*tensors))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

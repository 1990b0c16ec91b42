# seed 71000486, lazy: different, result 0 by 4: got [[-1.   0.2] [ 0.9  0.7]], wanted [[3.  0.2] [0.9 0.7]]
import numpy as np
import retrograde as rg


def program(x1):
    v4 = x1.T * 1
    v4.T.reshape(-1)[0] = 3
    return v4,


inputs = (
    np.array([[-1.0, 0.9], [0.2, 0.7]], 'float64'),  # x1
)

tensors = tuple(map(rg.tensor, inputs))

def lazily(function):
    with rg.lazy():
        found = function()
    rg.realize(*rg.tree.leaves(found))
    return found


wanted = rg.tree.leaves(program(*tensors))
got = rg.tree.leaves(lazily(lambda: program(*tensors)))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

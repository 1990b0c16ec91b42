# seed 93000308, lazy: different, result 0 by 0.15: got 2., wanted 1.85
import numpy as np
import retrograde as rg


def program(x2):
    w0 = x2 + x2
    w1 = w0.detach()
    w2 = w1[-1]
    w3 = w0[::-1]
    w3.fill_(2)
    v6 = rg.concatenate([(w0 * 1).reshape(-1), (w1 * 1).reshape(-1), (w2 * 1).reshape(-1), (w3 * 1).reshape(-1)])
    v12 = rg.mean(v6, axis=-1)
    return v12,


inputs = (
    np.array([0.7], 'float64'),  # x2
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

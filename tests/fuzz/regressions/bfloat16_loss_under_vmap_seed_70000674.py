# seed 70000674, vmap: different, result 0 is float64(3,), not bfloat16(3,): got [1.7201519  2.64533615 2.99458313], wanted [1.71875 2.64062 3]
import ml_dtypes  # NumPy learns the name
import numpy as np
import retrograde as rg


def program(x2, x3):
    v1 = rg.binary_cross_entropy_with_logits(rg.asarray(x2), rg.asarray(x3), reduction='sum', pos_weight=np.array([1.0, 2.0, 0.5], 'float64'))
    return v1,


inputs = (
    np.array([[2.375]], 'bfloat16'),  # x2
    np.array([[0.801]], 'bfloat16'),  # x3
)

rows = tuple(np.stack([x, (x * 0.75).astype(x.dtype), (x * 0.5).astype(x.dtype)]) for x in inputs)

def one_by_one(function, *rows):
    found = [function(*map(rg.tensor, row)) for row in zip(*rows, strict=True)]
    return [np.stack([np.asarray(r[k]) for r in found]) for k in range(len(found[0]))]


wanted = rg.tree.leaves(one_by_one(program, *rows))
got = rg.tree.leaves(rg.vmap(program)(*rows))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=0.06, atol=0.06, equal_nan=True), (a, b)


# seed 91000139, vmap of first: different, result 0 by 2.9: got [[0.2 0.2 3. ] ...], wanted [[3. 3. 3.] ...]
import numpy as np
import retrograde as rg


def program(x0):
    w0 = x0 * 1
    w1 = w0.detach()
    w2 = w0.detach()
    w0[0] = 3
    v0 = rg.concatenate([(w0 * 1).reshape(-1), (w1 * 1).reshape(-1), (w2 * 1).reshape(-1)])
    v1 = v0[::-1]
    return v1,


inputs = (
    np.array([0.2], 'float64'),  # x0
)

tensors = tuple(map(rg.tensor, inputs))

def other(x, k):
    """Another example like `x`: numbers that are smaller, integers in another order, so that positions and labels stay in range."""
    return (x * (1, 0.75, 0.5)[k]).astype(x.dtype) if x.dtype.kind in "fcV" else np.roll(x, k)

def one_by_one(function, *rows):
    found = [rg.tree.leaves(function(*map(rg.tensor, row))) for row in zip(*rows, strict=True)]
    return [np.stack([np.asarray(r[k]) for r in found]) for k in range(len(found[0]))]

rows = tuple(np.stack([other(x, k) for k in range(3)]) for x in inputs)

firsts = lambda function: lambda x: function(x, *tensors[1:])


wanted = rg.tree.leaves(one_by_one(firsts(program), rows[0]))
got = rg.tree.leaves(rg.vmap(firsts(program))(rows[0]))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

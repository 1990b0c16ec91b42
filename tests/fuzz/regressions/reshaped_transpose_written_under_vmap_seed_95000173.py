# seed 95000173, jit of vmap of grad: different, result 0 by 0.362
import numpy as np
import retrograde as rg


def program(x0):
    w0 = x0.T * 1
    w1 = w0.reshape(-1)
    w2 = w1.T
    w3 = w2.T
    w1 += w1
    v0 = rg.concatenate([(w0 * 1).reshape(-1), (w1 * 1).reshape(-1), (w2 * 1).reshape(-1), (w3 * 1).reshape(-1)])
    v3 = rg.maximum(v0, -0.0)
    return v3,


inputs = (
    np.array([[2.0, -1.0], [0.0, 2.0]], 'float64'),  # x0
)

tensors = tuple(map(rg.tensor, inputs))

places = tuple(i for i, x in enumerate(tensors) if x.dtype.kind in "fc")

def other(x, k):
    """Another example like `x`: numbers that are smaller, integers in another order, so that positions and labels stay in range."""
    return (x * (1, 0.75, 0.5)[k]).astype(x.dtype) if x.dtype.kind in "fcV" else np.roll(x, k)

def total(values):
    """One number that depends unevenly on every float."""
    result = rg.tensor(0.0)
    for number, z in enumerate(rg.tree.leaves(values)):
        for part in (z.real, z.imag) if z.dtype.kind == "c" else (z,) if z.dtype.kind == "f" else ():
            result = result + (weighted(part, number) if z.ndim else part)
    return result

def weighted(part, number):
    """The sum of a bounded function of each element, unevenly weighted. A quotient takes less time to compile than a tanh."""
    part = part.astype("float32") if part.dtype.itemsize < 4 else part  # whose square float16 could not hold
    weights = (1 + np.cos(np.arange(part.size) * 0.7 + number)).reshape(part.shape).astype(part.dtype)
    return (part / (part * part + 3.1) * weights).sum()

def totalled(function):
    """The total of what `function` gives."""
    return lambda *x: total(function(*x))

def one_by_one(function, *rows):
    found = [rg.tree.leaves(function(*map(rg.tensor, row))) for row in zip(*rows, strict=True)]
    return [np.stack([np.asarray(r[k]) for r in found]) for k in range(len(found[0]))]

rows = tuple(np.stack([other(x, k) for k in range(3)]) for x in inputs)

loss = totalled(program)

slopes = rg.grad(loss, places)


wanted = rg.tree.leaves(one_by_one(slopes, *rows))
got = rg.tree.leaves(rg.jit(rg.vmap(slopes))(*rows))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

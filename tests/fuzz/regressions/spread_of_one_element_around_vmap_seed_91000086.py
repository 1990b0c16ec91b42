# seed 91000086, grad of vmap: different, result 0 by nan: got [[[[nan nan]]] ...], wanted [[[[0. 0.]]] ...]
import numpy as np
import retrograde as rg


def program(x1):
    v5 = x1[0::-2]
    v6 = rg.std(v5, axis=0, keepdims=True) if v5.size > 1 else v5
    return v6,


inputs = (
    np.array([[[1.5, 0.2]]], 'float64'),  # x1
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

def stacked(function):
    """`function` of each example in turn, by indexing and stacking."""
    def of_all(*rows):
        found = [function(*[x[k] for x in rows]) for k in range(3)]
        return [rg.stack(parts) for parts in zip(*found, strict=True)]
    return of_all

rows = tuple(np.stack([other(x, k) for k in range(3)]) for x in inputs)


wanted = rg.tree.leaves(rg.grad(totalled(stacked(program)), places)(*rows))
got = rg.tree.leaves(rg.grad(totalled(rg.vmap(program)), places)(*rows))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

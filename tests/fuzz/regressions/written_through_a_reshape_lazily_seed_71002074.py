# seed 71002074, lazy backward: different, result 0 by 0.0806: got [[[-0.08059559  0.37377596]  [ 0.44818893  0.14646212]]], wanted [[[0.         0.37377596]  [0.44818893 0.14646212]]]
import numpy as np
import retrograde as rg


def program(x3):
    v3 = x3.T * 1
    v3.T.reshape(-1)[0] = 3
    return v3,


inputs = (
    np.array([[[3.0, 0.1], [-0.5, -0.3]]], 'float64'),  # x3
)

def total(values):
    """One number that depends unevenly on every float."""
    result = rg.tensor(0.0)
    for number, z in enumerate(rg.tree.leaves(values)):
        for part in (z.real, z.imag) if z.dtype.kind == "c" else (z,) if z.dtype.kind == "f" else ():
            result = result + (weighted(part, number) if z.ndim else part)
    return result

def weighted(part, number):
    """The sum of a bounded function of each element, unevenly weighted. A quotient takes less time to compile than a tanh."""
    weights = (1 + np.cos(np.arange(part.size) * 0.7 + number)).reshape(part.shape).astype(part.dtype)
    return (part / (part * part + 3.1) * weights).sum()

def totalled(function):
    """The total of what `function` gives."""
    return lambda *x: total(function(*x))

def lazily(function):
    with rg.lazy():
        found = function()
    rg.realize(*rg.tree.leaves(found))
    return found

def backward():
    """The gradients that `backward` leaves."""
    leaves = [rg.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    loss = total(program(*leaves))
    if loss.requires_grad:
        loss.backward()
    return [x.grad for x in leaves]

loss = totalled(program)


wanted = rg.tree.leaves(backward())
got = rg.tree.leaves(lazily(backward))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=1e-09, atol=1e-09, equal_nan=True), (a, b)

# seed 208, jit of grad: different, result 0 is float64(1, 1, 1), not float32(1, 1, 1): got [[[0.61686686]]], wanted [[[0.6168669]]]
import numpy as np
import retrograde as rg


def program(x2):
    v1 = 2.0 ** x2
    return v1,


inputs = (
    np.array([[[0.5]]], 'float32'),  # x2
)

tensors = tuple(map(rg.tensor, inputs))

places = tuple(i for i, x in enumerate(tensors) if x.dtype.kind == "f")

def total(values):
    """One number that depends unevenly on every float."""
    result = 0.0
    for number, z in enumerate(rg.tree.leaves(values)):
        for part in (z.real, z.imag) if z.dtype.kind == "c" else (z,) if z.dtype.kind == "f" else ():
            weights = (1 + np.cos(np.arange(z.size) * 0.7 + number)).reshape(z.shape).astype(part.dtype)
            result = result + (rg.tanh(part * 0.5) * weights).sum()
    return result

def anchored(function):
    """The total of what `function` gives, so that each float argument has a gradient."""
    return lambda *x: total(function(*x)) + sum((x[i] * 0).sum() for i in places)

loss = anchored(program)

slopes = rg.grad(loss, places)


wanted = rg.tree.leaves(slopes(*tensors))
got = rg.tree.leaves(rg.jit(slopes)(*tensors))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=0.0002, atol=0.0002, equal_nan=True), (a, b)

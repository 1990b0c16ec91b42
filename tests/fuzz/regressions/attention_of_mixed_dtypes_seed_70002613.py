# seed 70002613, scan: different, result 0 is float64(), not float32(): got -0.63971798, wanted -0.6397179
import numpy as np
import retrograde as rg


def program(x1, x2, x3, x4, x5, x6):
    v0 = rg.take_along_axis(x1, rg.argmax(x1, axis=1, keepdims=True), axis=1)
    v1 = x1 * 1
    v12 = rg.ops.get('attention_gradients').call((x2 + 0.05 * rg.tanh(rg.mean(x6))), (np.array([[1.962, -0.177], [1.39, -2.031], [1.398, 0.877]], 'float32') + 0.05 * rg.tanh(rg.mean(v0))), (x3 + 0.05 * rg.tanh(rg.mean(v1))), (x4 + 0.05 * rg.tanh(rg.mean(x5))), (np.array([[-2.255, 1.358, -0.196], [2.278, -2.58, -0.217], [-1.619, 0.443, -2.613]], 'float32') + 0.05 * rg.tanh(x2)))[0]
    return v12,


inputs = (
    np.array([[-2.0]], 'float32'),  # x1
    np.array([[-0.971], [2.799], [2.099]], 'float32'),  # x2
    np.array([[-1.517, 1.5]], 'float32'),  # x3
    np.array([[2.547]], 'float32'),  # x4
    np.array([[-4.0]], 'float64'),  # x5
    np.array([[-0.046]], 'float32'),  # x6
)

tensors = tuple(map(rg.tensor, inputs))

rows = tuple(np.stack([x, (x * 0.75).astype(x.dtype), (x * 0.5).astype(x.dtype)]) for x in inputs)

def total(values):
    """One number that depends unevenly on every float."""
    result = rg.tensor(0.0)
    for number, z in enumerate(rg.tree.leaves(values)):
        for part in (z.real, z.imag) if z.dtype.kind == "c" else (z,) if z.dtype.kind == "f" else ():
            weights = (1 + np.cos(np.arange(z.size) * 0.7 + number)).reshape(z.shape).astype(part.dtype)
            result = result + ((rg.tanh(part * 0.5) * weights).sum() if z.ndim else part)
    return result

body = lambda carry, row: (carry * 0.5 + total(program(*row)), program(*row))

start = lambda: total(program(*tensors)) * 0


wanted = rg.tree.leaves(rg.scan(body, start(), tuple(map(rg.tensor, rows))))
got = rg.tree.leaves(rg.jit(lambda *r: rg.scan(body, start(), r))(*map(rg.tensor, rows)))
for a, b in zip(wanted, got, strict=True):
    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))
    assert (a is None) == (b is None)
    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)
    assert a is None or np.allclose(a.astype(complex), b.astype(complex), rtol=0.0002, atol=0.0002, equal_nan=True), (a, b)


"""Compiled functions of all kinds, each as a maker of its results; needs no code generator by itself."""

import numpy as np

import retrograde as rg
from retrograde import nn

NUMBERS = np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32)
TABLE = np.arange(2000.0).reshape(40, 50)


def trained(dtype=rg.float32):
    """The losses of a small model over some steps, and its step."""
    rg.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 3))
    optimizer = rg.optim.Adam(model.parameters(), lr=0.1)
    x, y = rg.tensor(NUMBERS), rg.tensor(np.arange(6) % 3)

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    step = rg.jit(step)
    losses = [step(x, y).item() for _ in range(4)]
    return [np.array(losses), model[0].weight.grad.numpy(), *[p.detach().numpy() for p in model.parameters()]], step


def called(function, *arrays):
    """A maker of the results of a compiled function, and of the function."""
    def run():
        step = rg.jit(lambda *args: function(*args))
        found = step(*map(rg.tensor, arrays))
        return [f.detach().numpy() for f in rg.tree.leaves(found)], step

    return run


def waved(x, y):
    """Complex numbers: kernels on parts, transforms, and a library call."""
    wave = rg.fft.rfft(x) * rg.complex(y, 1)
    return rg.fft.irfft(wave, 50), rg.cumsum(wave, 0), rg.asin(wave / 9) @ (TABLE.T[:26] * 1j)


def summed(x):
    """A loop: its carried numbers, and each iteration's."""
    return rg.scan(lambda total, row: (total * 0.5 + row, rg.sin(total)), rg.zeros(5), x)


CASES = {
    "complex numbers": called(waved, TABLE / 999, TABLE[:, :26]),
    "training with state, dropout and gradients that are kept": trained,
    "elementwise": called(lambda x: rg.sin(x) * 2 + x, NUMBERS),
    "several results, one of them an argument, one twice, one a constant": called(
        lambda x: (x.sum(axis=0), x, x.sum(axis=0), rg.ones(3)), NUMBERS),
    "large results": called(lambda x: rg.exp(x[:, None] - x), np.linspace(-1, 1, 80)),
    "a word of NumPy's for a library call": called(lambda x: rg.dequantize(x, np.str_("F16")), NUMBERS.view(np.uint8)),
    "matrix products": called(lambda x: (x @ x.T, x.T @ x), NUMBERS),
    "constants of the graph": called(lambda x: x * TABLE + TABLE[::-1].T.copy().T, np.ones((40, 50))),
    "constants of few bytes": called(
        lambda x: (x.astype(rg.bfloat16) * rg.tensor([1.0, 2.0], dtype=rg.bfloat16).numpy()[:1], x + np.broadcast_to(2.5, (6, 5)),
                   x[:0] * np.ones((0, 5), np.float32), x * np.float32(3)), NUMBERS),
    "constants that were folded": called(lambda x: x + np.arange(5) * 2.0, np.ones(5)),
    "rows of a table": called(lambda x, i: rg.take(x, i, axis=0), NUMBERS, np.array([3, 0, 3])),
    "library calls": called(
        lambda x: (rg.sort(x[::-1].T, axis=-1) + 1, rg.linalg.eigh(x.T @ x), x[:, 1:4].sum()), NUMBERS.astype(np.float64)),
    "a loop": called(summed, NUMBERS),
    "the gradient of a loop": called(rg.grad(lambda x: summed(x)[1].sum()), NUMBERS),
    "bfloat16": called(lambda x: x.astype(rg.bfloat16) * 2, NUMBERS),
    "softmax of many rows": called(lambda x: rg.softmax(x, axis=-1), np.tile(NUMBERS, (100, 20))),
}

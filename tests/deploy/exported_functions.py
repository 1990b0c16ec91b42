"""Functions that are exported in the tests, and what compares a program in a file with the jitted function, bit for bit."""

import numpy as np

import retrograde as rg
from retrograde import nn, optim
from retrograde.ops.elementary.conversions import astype
from retrograde.ops.random.draws import random_normal

#: A function for each kernel that is written for vectors of a target's length, and the shape of its argument.
KERNELS = {
    "loop": (lambda x: rg.sin(x) / (1 + rg.exp(x)), (70, 33)), "reduction": (lambda x: rg.softmax(x), (70, 33)),
    "matmul": (lambda x: x @ x, (130, 130)), "sort": (lambda x: rg.topk(x, 3)[0], (70, 33)),
    "attention": (lambda x: nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True), (1, 2, 70, 16)),
    "convolution": (lambda x: rg.conv2d(x, x[:, :, :3, :3]), (2, 2, 9, 9)), "pooling": (lambda x: rg.max_pool2d(x, 2), (2, 2, 8, 8)),
    "linalg": (lambda x: rg.linalg.solve(x, x), (3, 40, 40)), "running": (lambda x: rg.cumsum(x, axis=0), (70, 33)),
    "fourier": (lambda x: rg.fft.fft(x), (70, 32)), "median": (lambda x: rg.median(x, axis=1), (70, 33)),
    "scatter": (lambda x: rg.segment_sum(x, np.arange(70) % 7, 7), (70, 33)),
    "random": (lambda x: random_normal(astype(x, np.int64), (1000,)), (2,)),
    "scan": (lambda x: rg.scan(lambda c, r: (rg.tanh(c @ x + r),) * 2, x[0], x), (33, 33)),
    "gradient": (rg.grad(lambda x: (rg.tanh(x @ x.T) ** 2).sum()), (70, 33)),
}


def argument(name):
    """The argument of a kernel."""
    return np.random.default_rng(0).uniform(-1, 1, KERNELS[name][1]).astype(np.float32)


def bits(values):
    """The bytes, shapes and dtypes of all arrays in `values`."""
    return [(a.tobytes(), a.shape, str(a.dtype)) for a in map(_array, rg.tree.leaves(values))]


def _array(value):
    return np.asarray(value.detach().numpy() if isinstance(value, rg.Tensor) else value)


def training():
    """(a jitted step of training that draws, its arguments)."""
    rg.manual_seed(0)
    rng = np.random.default_rng(1)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.3), nn.BatchNorm1d(32), nn.Linear(32, 3))
    optimizer = optim.Adam(model.parameters(), lr=1e-2)

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, (rng.normal(size=(16, 8)).astype(np.float32), rng.integers(0, 3, 16))

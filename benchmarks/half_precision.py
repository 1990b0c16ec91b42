"""Half precision against float32, in compiled code on one thread: loops, products, and training steps under autocast.

Run `python -m benchmarks.half_precision` (options: --filter, --rounds). Both sides take turns, A B A B; a figure is the least
processor time of its rounds. Where PyTorch is installed its autocast is measured as well, in its own way of running.
"""

import argparse
import os
import time
from functools import partial
from importlib import import_module
from importlib.util import find_spec

os.environ.setdefault("RETROGRADE_NUM_THREADS", "1")

import numpy as np

import retrograde as rg
from retrograde import nn, optim
from retrograde.torch import autocast

#: Elementwise functions of a million numbers.
LOOPS = {
    "x * 2 + 1": lambda x: x * 2 + 1, "tanh(x) * x + 1": lambda x: rg.tanh(x) * x + 1, "relu(x) + x": lambda x: rg.relu(x) + x,
    "gelu(x)": rg.gelu, "sum of exp(x)": lambda x: rg.exp(x).sum(),
    "softmax of rows": lambda x: rg.softmax(x.reshape(1000, 1000), 1),
}
#: Sizes of products: rows, columns, steps of k.
PRODUCTS = [(256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (1024, 384, 128)]
WIDTH, GPT_LAYERS, GPT_WIDTH, HEADS, CONTEXT, BATCH = 512, 4, 128, 4, 64, 16


def main():
    """Measure all, and print a table."""
    parser = argparse.ArgumentParser(description="Half precision against float32.")
    parser.add_argument("--filter", default="", help="only what has this in its name")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    print(f"{'':34}{'float32':>10}{'half':>10}{'ratio':>8}   milliseconds of processor time")
    for name, plain, half in cases():
        if options.filter in name:
            first, second = least([plain(), half()], options.rounds)
            print(f"{name:34}{first * 1e3:10.3f}{second * 1e3:10.3f}{first / second:8.2f}", flush=True)


def cases():
    """(name, what makes the run of float32, what makes that of half precision)."""
    for dtype in ("bfloat16", "float16"):
        for name, function in LOOPS.items():
            yield f"{name}, {dtype}", lambda f=function: loop(f, "float32"), lambda f=function, d=dtype: loop(f, d)
        for size in PRODUCTS:
            shown = "x".join(map(str, size))
            yield f"product {shown}, {dtype}", lambda s=size: product(s, "float32"), lambda s=size, d=dtype: product(s, d)
    yield "step of a perceptron, autocast", lambda: perceptron(False), lambda: perceptron(True)
    yield "step of a GPT, autocast", lambda: gpt(False), lambda: gpt(True)
    if find_spec("torch") is not None:
        torch = import_module("benchmarks.half_precision_torch")
        yield "PyTorch's autocast, ours: perceptron", torch.perceptron, lambda: perceptron(True)
        yield "PyTorch's autocast, ours: GPT", torch.gpt, lambda: gpt(True)


def least(runs, rounds):
    """The least processor time of each of some runs, which take turns."""
    found = [float("inf")] * len(runs)
    for _ in range(rounds + 2):
        for place, run in enumerate(runs):
            start = time.process_time()
            run()
            found[place] = min(found[place], time.process_time() - start)
    return found


def loop(function, dtype):
    """A run of a function of a million numbers."""
    x, compiled = rg.tensor(np.random.default_rng(0).normal(size=1_000_000), dtype=dtype), rg.jit(function)
    return lambda: compiled(x)


def product(size, dtype):
    """A run of a product."""
    rows, columns, depth = size
    rng, compiled = np.random.default_rng(0), rg.jit(rg.matmul)
    a, b = rg.tensor(rng.normal(size=(rows, depth)), dtype=dtype), rg.tensor(rng.normal(size=(depth, columns)), dtype=dtype)
    return partial(compiled, a, b)


def perceptron(is_low):
    """A run of a training step of a perceptron of three layers."""
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
    rng = np.random.default_rng(0)
    x, y = (rg.tensor(rng.normal(size=(WIDTH, WIDTH)).astype(np.float32)) for _ in range(2))
    return trained(optim.SGD(model.parameters(), lr=0.01), lambda: nn.functional.mse_loss(model(x), y), is_low)


def gpt(is_low):
    """A run of a training step of a small GPT, that of `examples/gpt.py`."""
    model, rng = _GPT(), np.random.default_rng(0)
    tokens = rg.tensor(rng.integers(0, 100, (BATCH, CONTEXT + 1)))
    loss = lambda: nn.functional.cross_entropy(model(tokens[:, :-1]).reshape(BATCH * CONTEXT, -1), tokens[:, 1:].reshape(-1))
    return trained(optim.AdamW(model.parameters(), lr=1e-3), loss, is_low)


def trained(optimizer, loss, is_low):
    """A compiled step of an optimizer that lowers a loss, with products in bfloat16 if `is_low`."""
    @rg.jit
    def step():
        optimizer.zero_grad()
        with autocast("cpu", enabled=is_low):
            found = loss()
        found.backward()
        optimizer.step()
        return found

    return step


class _Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(GPT_WIDTH, 3 * GPT_WIDTH), nn.Linear(GPT_WIDTH, GPT_WIDTH)

    def forward(self, x):
        heads = self.qkv(x).reshape(BATCH, CONTEXT, 3, HEADS, GPT_WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        found = nn.functional.scaled_dot_product_attention(heads[0], heads[1], heads[2], is_causal=True)
        return self.out(found.permute(0, 2, 1, 3).reshape(BATCH, CONTEXT, GPT_WIDTH))


class _Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(GPT_WIDTH), _Attention(), nn.LayerNorm(GPT_WIDTH)
        self.network = nn.Sequential(nn.Linear(GPT_WIDTH, 4 * GPT_WIDTH), nn.GELU(), nn.Linear(4 * GPT_WIDTH, GPT_WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.network(self.norm2(x))


class _GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(100, GPT_WIDTH), nn.Embedding(CONTEXT, GPT_WIDTH)
        self.blocks = nn.Sequential(*[_Block() for _ in range(GPT_LAYERS)])
        self.norm, self.head = nn.LayerNorm(GPT_WIDTH), nn.Linear(GPT_WIDTH, 100, bias=False)

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.token(tokens) + self.place.weight)))


if __name__ == "__main__":
    main()

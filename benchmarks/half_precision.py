"""Half precision against float32, in compiled code on one thread: loops and products.

Run `python -m benchmarks.half_precision` (options: --filter, --rounds). Both sides take turns, A B A B; a figure is the least
processor time of its rounds. Training steps under autocast are cases of `python -m benchmarks models`.
"""

import argparse
import os
import time
from functools import partial

os.environ.setdefault("RETROGRADE_NUM_THREADS", "1")

import numpy as np

import retrograde as rg

#: Elementwise functions of a million numbers.
LOOPS = {
    "x * 2 + 1": lambda x: x * 2 + 1, "tanh(x) * x + 1": lambda x: rg.tanh(x) * x + 1, "relu(x) + x": lambda x: rg.relu(x) + x,
    "gelu(x)": rg.gelu, "sum of exp(x)": lambda x: rg.exp(x).sum(),
    "softmax of rows": lambda x: rg.softmax(x.reshape(1000, 1000), 1),
}
#: Sizes of products: rows, columns, steps of k.
PRODUCTS = [(256, 256, 256), (512, 512, 512), (1024, 1024, 1024), (1024, 384, 128)]


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


if __name__ == "__main__":
    main()

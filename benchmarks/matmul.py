"""Generated matrix products against NumPy's own, on one thread, and on two.

Run `python -m benchmarks.matmul` (options: --dtype, --filter, --rounds). The two sides take
turns, A B A B; a figure is the median of its rounds, and the ratio is the median of the ratios of neighbouring rounds. So is the
share of the peak: in each round the processor multiplies and adds as much in registers alone, since its pace changes from one
moment to the next.
"""

import argparse
import ctypes
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path

# Read by OpenBLAS when NumPy is imported, so before it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "compiler" / "backends" / "cpu" / "codegen"))

import numpy as np
from matmul_harness import Bound

from retrograde.compiler.backends.cpu.codegen import emit, ir
from retrograde.compiler.backends.cpu.codegen.vecmath.elements import suffix_of
from retrograde.compiler.backends.cpu.codegen.vectors import SCALAR_TYPES
from retrograde.compiler.backends.cpu.engine import engine
from retrograde.compiler.backends.cpu.host import target

# (m, k, n, layout of A and B: N as written, T transposed, batch)
SHAPES = [
    *((size, size, size, "NN", 0) for size in (16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)),
    (128, 784, 512, "NN", 0),
    (784, 128, 512, "TN", 0),
    (128, 512, 784, "NT", 0),
    (128, 512, 256, "NN", 0),
    (128, 256, 10, "NN", 0),
    (256, 128, 10, "TN", 0),
    (128, 10, 256, "NT", 0),
    (32, 2, 16, "NN", 0),
    (32, 16, 16, "NN", 0),
    (1, 32, 32, "NN", 0),
    (127, 255, 63, "NN", 0),
    (61, 513, 129, "TN", 0),
    (1, 1024, 1024, "NN", 0),
    (1, 1024, 1024, "NT", 0),
    (1024, 1024, 1, "NN", 0),
    (1024, 1024, 1, "TN", 0),
    (4, 512, 512, "NN", 0),
    (8, 512, 512, "NT", 0),
    (1000, 300, 2, "NN", 0),
    (1000, 300, 16, "NN", 0),
    (512, 1, 512, "NN", 0),
    (512, 4, 512, "NN", 0),
    (10, 4096, 10, "NN", 0),
    (64, 4096, 64, "TN", 0),
    (64, 64, 64, "NN", 32),
    (128, 64, 128, "NT", 16),
    (16, 16, 16, "NN", 256),
    # Of a language model: a prompt, and a training step; of a transformer of images.
    (256, 576, 1536, "NN", 0),
    (256, 1536, 576, "NN", 0),
    (512, 576, 1536, "NT", 0),
    (576, 512, 1536, "TN", 0),
    (1576, 192, 768, "NN", 0),
    (1576, 768, 192, "NN", 0),
    (192, 1576, 768, "TN", 0),
]


def arrays(shape, dtype, generator):
    """A, B and C of a shape; a T operand is a transposed view."""
    m, k, n, layout, batch = shape
    lead = (batch,) if batch else ()
    a = generator.standard_normal(lead + ((k, m) if layout[0] == "T" else (m, k))).astype(dtype)
    b = generator.standard_normal(lead + ((n, k) if layout[1] == "T" else (k, n))).astype(dtype)
    a = a.swapaxes(-1, -2) if layout[0] == "T" else a
    b = b.swapaxes(-1, -2) if layout[1] == "T" else b
    return a, b, np.empty((*lead, m, n), dtype)


def seconds(call, repeats):
    """Average time of a call."""
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def compare(calls, rounds, budget=0.004):
    """The median time of each of `calls`, which take turns, and that of its ratio to the time of the first."""
    for call in calls:
        call()
    repeats = max(1, min(2000, int(budget / max(seconds(calls[0], 2), 1e-7))))
    found = [[seconds(call, repeats) for call in calls] for _ in range(rounds)]
    return [(statistics.median(times), statistics.median(x / row[0] for x, row in zip(times, found, strict=True)))
            for times in zip(*found, strict=True)]


class Peak:
    """As many multiply-adds as this processor's one thread can do, none of which touches memory."""

    def __init__(self, machine, dtype):
        chains = 10 if machine.registers <= 16 else 24
        name = f"fma_peak_{dtype}"
        address = engine().compile(_peak_module(machine, dtype, chains, name))(name)
        self._function, self._scratch = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address), (ctypes.c_double * 64)()
        self._operations = 2 * machine.lanes(dtype) * chains

    def of(self, work):
        """A call that does so many operations; a multiply-add counts as two."""
        return lambda: self._function(max(1, round(work / self._operations)), self._scratch)

    def rate(self, repeats=200, work=6_400_000):
        """Operations a second at best."""
        call = self.of(work)
        return work / min(seconds(call, 1) for _ in range(repeats))


def _peak_module(machine, dtype, chains, name):
    """A loop of independent multiply-add chains, none of which touches memory."""
    module = ir.Module(name, target())
    vector = ir.VectorType(SCALAR_TYPES[dtype], machine.lanes(dtype))
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [emit.I64, emit.POINTER]), name)
    steps, scratch = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    factor = builder.load(scratch, vector, align=8)
    starts = [ir.Constant(vector, [float(number)] * vector.count) for number in range(chains)]
    with emit.loop(builder, 0, steps, carry=starts) as turn:
        turn.values = [
            builder.call_external(f"llvm.fma.{suffix_of(vector)}", vector, [factor, factor, value]) for value in turn.values
        ]
    builder.store(reduce(builder.fadd, turn.results), scratch, align=8)
    builder.ret_void()
    return module


def two_threads(a, b, c, pool):
    """A call that computes one chunk here and one on another thread."""
    bound = Bound(a, b, c, count=2)

    def run():
        other = pool.submit(bound, 1)
        bound(0)
        other.result()

    return run


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--filter", default="")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    peak, generator = Peak(target(), options.dtype), np.random.default_rng(0)
    print(f"{options.dtype}, measured peak of one thread {peak.rate() / 1e9:.1f} GFLOP/s")
    heads = ("us", 9), ("GFLOP/s", 8), ("peak", 5), ("NumPy", 8), ("ratio", 6), ("2 thr", 6)
    print(f"{'m x k x n':>16} {'':2} {'batch':>5}", *(f"{head:>{width}}" for head, width in heads))
    with ThreadPoolExecutor(1) as pool:
        for shape in SHAPES:
            label = "x".join(str(x) for x in shape[:3])
            if options.filter in f"{label}{shape[3]}":
                print(row(label, shape, options, generator, pool, peak), flush=True)


def row(label, shape, options, generator, pool, peak):
    """One line of the table."""
    a, b, c = arrays(shape, options.dtype, generator)
    m, k, n, layout, batch = shape
    work = 2 * m * k * n * max(batch, 1)
    calls = Bound(a, b, c), lambda: np.matmul(a, b, out=c), peak.of(work)
    (mine, _), (other, ratio), (_, share) = compare(calls, options.rounds)
    peer = ""
    if min(m, k, n) >= 512:
        single = Bound(a, b, c)
        _, (_, speedup) = compare((two_threads(a, b, c, pool), single), 7)
        peer = f"{speedup:6.2f}"
    return (
        f"{label:>16} {layout} {batch:5d} {mine * 1e6:9.2f} {work / mine / 1e9:8.1f} {share:5.0%}"
        f" {work / other / 1e9:8.1f} {ratio:6.2f} {peer}"
    )


if __name__ == "__main__":
    main()

"""The ops that people use most, each on about 1,000 numbers, as users of retrograde and of PyTorch write them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import libraries

LINE, ROWS, IMAGE, SQUARE = (1000,), (25, 40), (2, 5, 10, 10), (32, 32)


class Op(NamedTuple):
    """One op: `ours` and `theirs` take the library, its functions of `nn` and the inputs, which are float32.

    shapes     of the inputs that need a gradient
    constants  what else the expressions take, made of a generator of random numbers
    positive   whether the inputs are above zero
    """

    name: str
    ours: Callable
    theirs: Callable
    shapes: tuple = (LINE,)
    constants: Callable = lambda rng: ()
    positive: bool = False


def _same(name, function, *shapes, constants=lambda rng: (), positive=False):
    """An op that both libraries spell alike."""
    return Op(name, function, function, shapes or (LINE,), constants, positive)


def _labels(count, size):
    return lambda rng: (rng.integers(0, count, size),)


def _mask(rng):
    return (rng.random(LINE) > 0.5,)


OPS = [
    # By element.
    _same("add", lambda _, __, x, y: x + y, LINE, LINE),
    _same("subtract", lambda _, __, x, y: x - y, LINE, LINE),
    _same("multiply", lambda _, __, x, y: x * y, LINE, LINE),
    _same("divide", lambda _, __, x, y: x / y, LINE, LINE, positive=True),
    _same("multiply by a number", lambda _, __, x: x * 3.0),
    _same("power of 3", lambda _, __, x: x**3),
    _same("power", lambda _, __, x, y: x**y, LINE, LINE, positive=True),
    _same("exp", lambda lib, _, x: lib.exp(x)),
    _same("log", lambda lib, _, x: lib.log(x), positive=True),
    _same("sqrt", lambda lib, _, x: lib.sqrt(x), positive=True),
    _same("sin", lambda lib, _, x: lib.sin(x)),
    _same("tanh", lambda lib, _, x: lib.tanh(x)),
    _same("erf", lambda lib, _, x: lib.erf(x)),
    _same("abs", lambda lib, _, x: lib.abs(x)),
    _same("maximum", lambda lib, _, x, y: lib.maximum(x, y), LINE, LINE),
    Op("clip", lambda lib, _, x: lib.clip(x, -0.5, 0.5), lambda lib, _, x: lib.clip(x, -0.5, 0.5)),
    _same("where", lambda lib, _, x, y, m: lib.where(m, x, y), LINE, LINE, constants=_mask),
    _same("masked_fill", lambda _, __, x, m: x.masked_fill(m, 0.0), constants=_mask),
    # Activations.
    _same("relu", lambda _, f, x: f.relu(x)),
    _same("leaky_relu", lambda _, f, x: f.leaky_relu(x)),
    _same("elu", lambda _, f, x: f.elu(x)),
    _same("gelu", lambda _, f, x: f.gelu(x)),
    _same("silu", lambda _, f, x: f.silu(x)),
    _same("sigmoid", lambda lib, _, x: lib.sigmoid(x)),
    _same("softplus", lambda _, f, x: f.softplus(x)),
    _same("softmax", lambda _, f, x: f.softmax(x, -1), ROWS),
    _same("log_softmax", lambda _, f, x: f.log_softmax(x, -1), ROWS),
    # Reductions.
    _same("sum", lambda _, __, x: x.sum()),
    _same("sum of rows", lambda _, __, x: x.sum(1), ROWS),
    _same("mean", lambda _, __, x: x.mean()),
    Op("var", lambda _, __, x: x.var(1, correction=1), lambda _, __, x: x.var(1, correction=1), (ROWS,)),
    Op("std", lambda _, __, x: x.std(1, correction=1), lambda _, __, x: x.std(1, correction=1), (ROWS,)),
    Op("max", lambda lib, _, x: lib.max(x, 1), lambda lib, _, x: lib.amax(x, 1), (ROWS,)),
    Op("min", lambda lib, _, x: lib.min(x, 1), lambda lib, _, x: lib.amin(x, 1), (ROWS,)),
    _same("prod", lambda lib, _, x: lib.prod(x), positive=True),
    _same("logsumexp", lambda lib, _, x: lib.logsumexp(x, 1), ROWS),
    Op("norm", lambda lib, _, x: lib.norm(x), lambda lib, _, x: lib.linalg.vector_norm(x)),
    Op("median", lambda lib, _, x: lib.median(x, 1), lambda lib, _, x: lib.median(x, 1).values, ((40, 25),)),
    _same("cumsum", lambda lib, _, x: lib.cumsum(x, 1), ROWS),
    _same("cumprod", lambda lib, _, x: lib.cumprod(x, 1), ROWS, positive=True),
    Op("sort", lambda lib, _, x: lib.sort(x, 1), lambda lib, _, x: lib.sort(x, 1).values, (ROWS,)),
    Op("topk", lambda lib, _, x: lib.topk(x, 5)[0], lambda lib, _, x: lib.topk(x, 5).values, (ROWS,)),
    # Shapes and places.
    _same("reshape", lambda _, __, x: x.reshape(40, 25), ROWS),
    _same("transpose", lambda _, __, x: x.transpose(0, 1), ROWS),
    Op("expand", lambda lib, _, x: lib.broadcast_to(x, (25, 40)), lambda lib, _, x: lib.broadcast_to(x, (25, 40)), ((40,),)),
    Op("cat", lambda lib, _, x, y: lib.concat([x, y], 0), lambda lib, _, x, y: lib.concat([x, y], 0), ((500,), (500,))),
    Op("stack", lambda lib, _, x, y: lib.stack([x, y], 0), lambda lib, _, x, y: lib.stack([x, y], 0), ((500,), (500,))),
    _same("slice", lambda _, __, x: x[5:20], ROWS),
    _same("index by a tensor", lambda _, __, x, i: x[i], ROWS, constants=_labels(25, 25)),
    _same("pad", lambda _, f, x: f.pad(x, (1, 1, 1, 1)), IMAGE),
    Op("flip", lambda lib, _, x: lib.flip(x, 0), lambda lib, _, x: lib.flip(x, (0,))),
    Op("gather", lambda lib, _, x, i: lib.gather(x, i, 1), lambda lib, _, x, i: lib.gather(x, 1, i), (ROWS,),
       _labels(40, (25, 40))),
    _same("embedding", lambda _, f, w, i: f.embedding(i, w), (100, 10), constants=_labels(100, 100)),
    # Products.
    _same("matmul", lambda _, __, x, y: x @ y, SQUARE, SQUARE),
    _same("matmul of batches", lambda _, __, x, y: x @ y, (4, 16, 16), (4, 16, 16)),
    _same("linear", lambda _, f, x, w, b: f.linear(x, w, b), (25, 40), (40, 40), (40,)),
    _same("einsum", lambda lib, _, x, y: lib.einsum("ij,kj->ik", x, y), SQUARE, SQUARE),
    _same("outer", lambda lib, _, x, y: lib.outer(x, y), (32,), (32,)),
    _same("attention", lambda _, f, q, k, v: f.scaled_dot_product_attention(q, k, v), *[(2, 4, 8, 16)] * 3),
    # Images.
    _same("conv1d", lambda _, f, x, w, b: f.conv1d(x, w, b, padding=1), (2, 10, 50), (10, 10, 3), (10,)),
    _same("conv2d", lambda _, f, x, w, b: f.conv2d(x, w, b, padding=1), IMAGE, (5, 5, 3, 3), (5,)),
    _same("max_pool2d", lambda _, f, x: f.max_pool2d(x, 2), IMAGE),
    _same("avg_pool2d", lambda _, f, x: f.avg_pool2d(x, 2), IMAGE),
    _same("adaptive_avg_pool2d", lambda _, f, x: f.adaptive_avg_pool2d(x, (3, 3)), IMAGE),
    _same("interpolate", lambda _, f, x: f.interpolate(x, scale_factor=2, mode="nearest"), (2, 5, 5, 5)),
    # Norms and losses.
    _same("layer_norm", lambda _, f, x, w, b: f.layer_norm(x, (40,), w, b), ROWS, (40,), (40,)),
    _same("batch_norm", lambda _, f, x, w, b: f.batch_norm(x, None, None, w, b, True), IMAGE, (5,), (5,)),
    _same("group_norm", lambda _, f, x, w, b: f.group_norm(x, 2, w, b), (2, 4, 10, 12), (4,), (4,)),
    _same("cross_entropy", lambda _, f, x, t: f.cross_entropy(x, t), (100, 10), constants=_labels(10, 100)),
    _same("mse_loss", lambda _, f, x, y: f.mse_loss(x, y), LINE, LINE),
    _same("binary_cross_entropy_with_logits", lambda _, f, x, y: f.binary_cross_entropy_with_logits(x, y), LINE, LINE),
    _same("dropout", lambda _, f, x: f.dropout(x, 0.5, True)),
]
BY_NAME = {op.name: op for op in OPS}
#: Ops whose results are drawn, so that no two libraries agree.
DRAWN = {"dropout"}


def passes(library, name):
    """Two functions of an op: one that runs it forward and back and returns its gradients, and one that returns result and
    gradients as arrays.
    """
    op, lib, rng = BY_NAME[name], libraries.modules(library), np.random.default_rng(0)
    expression = op.ours if library == "retrograde" else op.theirs
    draw = (lambda shape: rng.uniform(0.5, 1.5, shape)) if op.positive else rng.standard_normal
    inputs = [lib.tensor(draw(shape).astype(np.float32)) for shape in op.shapes]
    for x in inputs:
        x.requires_grad = True
    given = [*inputs, *map(lib.tensor, op.constants(rng))]
    first = expression(lib.library, lib.functional, *given)
    seed = lib.tensor(np.random.default_rng(1).standard_normal(tuple(first.shape)).astype(np.float32))

    def run():
        for x in inputs:
            x.grad = None
        z = expression(lib.library, lib.functional, *given)
        z.backward(seed)
        return z

    def answer():
        z = run()
        return [np.asarray(part.detach().numpy()).tolist() for part in (z, *[x.grad for x in inputs])]

    return run, answer

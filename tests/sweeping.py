"""The cases of the registry sweep: what every op is called with, and how its operands are found again."""

from itertools import cycle, islice

import ml_dtypes
import numpy as np

import retrograde as rg
from retrograde.core.value import Value
from retrograde.dtypes import is_float
from retrograde.ops._samples import call, of

FLOATS = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32), np.dtype(np.float64)]
#: How far a result of such a dtype may lie from that of float64, relative and absolute.
COARSE = {2: 0.05, 4: 1e-4, 8: 1e-10}
SHAPES = {
    1: [((),), ((1,),), ((0, 3),), ((2, 3),), ((1, 3),)],
    2: [((), ()), ((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((1, 3), (0, 3)), ((), (2, 3)), ((1,), ()),
        ((2, 1, 2), (3, 1))],
    3: [((), (), ()), ((2, 3), (2, 3), (2, 3)), ((2, 3), (3,), ()), ((2, 1), (1, 3), (3,)), ((0, 3), (1, 3), ()),
        ((), (2, 3), (2, 1))],
}


class Case:
    """An op, called with drawn operands. `operands` are its float arrays; `rebuilt` puts others in their place."""

    def __init__(self, op, words, seed):
        self.op, self.words, self.seed = op, words, seed

    def __repr__(self):
        return f"{self.op.name}: {self.words!r}"

    @property
    def fixes_dtype(self):
        """Whether the call itself decides the dtype of the result, by a dtype or by an array among its parameters."""
        others = [*self.words.kwargs.values(), *[a for i, a in enumerate(self.words.args) if i not in self.op.operands]]
        return any(isinstance(x, np.dtype) or isinstance(x, np.ndarray) and is_float(x.dtype) for x in others)

    def drawn(self, dtype):
        """(args, kwargs) on plain arrays."""
        return self.words.draw(np.random.default_rng(self.seed), np.dtype(dtype))

    def operands(self, args):
        """The operands among `args`, in order: the arrays that may have a derivative."""
        operands = args[0] if self.op.is_variadic else [args[i] for i in self.op.operands if i < len(args)]
        return [x for x in operands if isinstance(x, (np.ndarray, np.generic)) and is_float(x.dtype)]

    def rebuilt(self, args, operands):
        """`args` with `operands` in place of those found by `operands()`."""
        new = iter(operands)

        def replaced(x):
            return next(new) if isinstance(x, (np.ndarray, np.generic)) and is_float(x.dtype) else x

        if self.op.is_variadic:
            return ([replaced(x) for x in args[0]], *args[1:])
        return tuple(replaced(x) if i in self.op.operands else x for i, x in enumerate(args))

    def run(self, args, kwargs, wrap=rg.asarray):
        """The op called with every float operand as a tensor made by `wrap`: the tensors and the results."""
        tensors = [wrap(x) for x in self.operands(args)]
        return tensors, results(self.op.call(*self.rebuilt(args, tensors), **kwargs))


def cases(op):
    """All cases of `op`: its own calls, or its domain over the shapes above."""
    samples = op.samples if isinstance(op.samples, tuple) else (op.samples,)
    if isinstance(samples[0], call):
        return [Case(op, words, seed) for seed, words in enumerate(samples)]
    count = len(op.operands)
    domains = list(islice(cycle(samples), count))
    return [Case(op, call(*map(of, shapes, domains)), seed) for seed, shapes in enumerate(SHAPES[count])]


def every_case():
    """(name, case) of each call of each op that is not one that makes arrays from numbers."""
    for name in rg.ops.names():
        op = rg.ops.get(name)
        if op.family != "creation":
            yield from ((f"{name}-{i}", case) for i, case in enumerate(cases(op)))


def counts():
    """How much the sweep runs: ops, those with a derivative, calls, float dtypes, operands of nothing and numbers."""
    ops = [rg.ops.get(name) for name in rg.ops.names()]
    calls = {op.name: len(cases(op)) for op in ops}
    differentiable = [op for op in ops if has_derivative(op)]
    skips = [(op.name, check) for op in ops for check in op.skips]
    return {
        "ops": len(ops), "calls": sum(calls.values()), "differentiable": len(differentiable),
        "differentiable_calls": sum(calls[op.name] for op in differentiable), "dtypes": len(FLOATS),
        "compiled": sum(n for name, n in calls.items() if rg.ops.get(name).family != "creation"),
        "order_skips": sorted({name for name, check in skips if check == "gradients"}),
    }


def has_derivative(op):
    """Whether the sweep can differentiate `op`."""
    return op.is_differentiable


def results(found):
    """What an op returned, as a list."""
    return list(found) if isinstance(found, tuple) else [found]


def plain(found):
    """Arrays of results that may be values."""
    return [np.asarray(x.data if isinstance(x, Value) else x) for x in found]


def widened(x):
    """`x` in the widest type of its kind."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def uneven(rng, shape, dtype):
    """A cotangent no two elements of which are alike."""
    return (rng.uniform(0.5, 1.5, shape) * rng.choice((-1.0, 1.0), shape)).astype(dtype)


def gradients(case, args, kwargs, wrap=None):
    """The gradients in all operands under uneven cotangents, by one backward pass."""
    wrap = wrap or (lambda x: rg.tensor(x, requires_grad=True))
    tensors, found = case.run(args, kwargs, wrap)
    rng = np.random.default_rng(case.seed + 1)
    live = [(z, uneven(rng, z.shape, z.dtype)) for z in found if isinstance(z, Value) and is_float(z.dtype)]
    live = [(z, seed) for z, seed in live if z.requires_grad]
    if live:
        rg.core.gradient.backward([z for z, _ in live], [seed for _, seed in live])
    return tensors


def disagreement(a, b, dtype):
    """The greatest difference between `a` and `b` as a part of what `dtype` allows; at most 1 is right."""
    a, b = widened(np.asarray(a)), widened(np.asarray(b))
    if a.shape != b.shape:
        return np.inf
    if a.size == 0:
        return 0.0
    allowed = COARSE[np.dtype(dtype).itemsize] * (1 + np.abs(b).max())
    return float(np.max(np.abs(a - b) / allowed))

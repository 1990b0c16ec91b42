"""jit: a function, traced once per spec of its arguments, as machine code."""

from functools import partial, update_wrapper

import numpy as np

from .. import tree
from ..compiler.program import Program
from ..compiler.trace import Trace
from ..core.mode import changed, current
from ..core.symbol import Symbol
from ..core.value import Deferred, Value
from ..errors import TraceError
from ..tensor.tensor import Tensor


def jit(function):
    """`function`, compiled to machine code on its first call with arguments of new shapes and dtypes.

    Arrays and tensors among the arguments (also inside lists, tuples and dictionaries) are inputs; everything else is
    a constant of the compiled code. Tensors that the function uses from outside (parameters, optimizer state) are read
    and written in place at each call.

    >>> @rg.jit
    ... def f(x):
    ...     return (rg.sin(x) ** 2).sum()
    >>> f(rg.tensor([0.0, 1.0]))
    tensor(0.7080734)
    """
    return Compiled(function)


class Compiled:
    """A function and the programs compiled for it, one per spec of its arguments."""

    def __init__(self, function):
        update_wrapper(self, function)
        self._function = function
        self._programs, self._latest, self._last = {}, None, None

    @property
    def traces(self):
        """How often the function was traced."""
        return sum(map(len, self._programs.values()))

    def __get__(self, instance, owner=None):
        return self if instance is None else Compiled(self._function.__get__(instance, owner))

    def explain(self):
        """The kernels of the program that ran last: what was fused into each, its loops, bytes and operations, and as
        attributes of `kernels` its LLVM code and assembly. Print it.
        """
        return self._last_step().program.explain()

    def profile(self, *args, repeats=20, **kwargs):
        """What `explain` gives for these arguments, with the shortest of `repeats` times of each kernel.

        The function is called once; after that kernels run on copies of the tensors that it writes.
        """
        self(*args, **kwargs)
        leaves, _ = tree.flatten((args, kwargs))
        return self._last_step().profile([_contiguous(leaf) for leaf in leaves if _is_array(leaf)], repeats)

    def _last_step(self):
        if self._last is None:
            raise TraceError("nothing is compiled yet; call the function once, then ask")
        return self._last

    def __call__(self, *args, **kwargs):
        mode = current()
        if mode is not None and mode.tracer is not None:
            return self._function(*args, **kwargs)
        if not kwargs and self._latest is not None:
            specs, step = self._latest
            arrays = _matched(args, specs)
            if arrays is not None and step.fits():
                return step(arrays)
        leaves, build = tree.flatten((args, kwargs))
        steps = self._programs.setdefault(tuple([_spec(leaf) for leaf in leaves]), [])
        step = next((step for step in steps if step.fits()), None)
        if step is None:
            step = _traced(self._function, leaves, build)
            steps.append(step)
        self._last = step
        is_flat = not kwargs and all([_is_array(a) for a in args])
        self._latest = ([(a.shape, a.dtype) for a in args], step) if is_flat else None
        return step([_contiguous(leaf) for leaf in leaves if _is_array(leaf)])


def _matched(args, specs):
    """The arrays of `args` if they are as `specs` has them, so that the last program can be called at once."""
    if len(args) != len(specs):
        return None
    arrays = []
    for a, (shape, dtype) in zip(args, specs, strict=True):
        array = a.data if a.__class__ is Tensor else a
        if array.__class__ is not np.ndarray or array.shape != shape or array.dtype is not dtype:
            return None
        arrays.append(array if array.flags.c_contiguous else np.ascontiguousarray(array))
    return arrays


def _is_array(leaf):
    return isinstance(leaf, (Tensor, np.ndarray))


def _spec(leaf):
    return (leaf.shape, leaf.dtype) if _is_array(leaf) else leaf


def _traced(function, leaves, build):
    """Trace `function` on symbols for the arrays among `leaves`, and compile what was recorded."""
    trace = Trace()
    arguments = [Symbol(None, (), leaf.shape, leaf.dtype) if _is_array(leaf) else None for leaf in leaves]
    values = [leaf if symbol is None else _argument(leaf, symbol) for leaf, symbol in zip(leaves, arguments, strict=True)]
    args, kwargs = build(values)
    try:
        with changed(tracer=trace):
            results, rebuild = tree.flatten(function(*args, **kwargs))
            results = [trace.symbol(r) if isinstance(r, Value) else r for r in results]
    except BaseException:
        trace.fail()
        raise
    finally:
        trace.restore()
    return _Step(trace, [s for s in arguments if s is not None], results, rebuild)


def _argument(leaf, symbol):
    value = Tensor(symbol)
    if isinstance(leaf, Tensor) and leaf.requires_grad and leaf.is_leaf:
        value.requires_grad = True
    return value


class _Step:
    """One compiled trace: its program, the tensors it captured and what it writes to them."""

    def __init__(self, trace, arguments, results, rebuild):
        self._captures = list(trace.captures.values())
        self._numbers, self._watched = trace.numbers, trace.watched
        self._rebuild, self._results = rebuild, results
        gradients = [g for g in trace.gradients.values() if not g.value.is_traced]
        self._guards = [(g.value, g.start is None) for g in gradients if g.is_read]
        self._cleared = [g.value for g in gradients if g.now is None]
        made = [g for g in gradients if g.now is not None and g.now is not g.start]
        outputs, held = [r for r in results if isinstance(r, Symbol)], [trace.symbol(g.now) for g in made]
        updates = [(c.start, c.now) for c in trace.changed()]
        self.program = Program(arguments, [c.start for c in self._captures], outputs, updates, held)
        self._made = [(g.value, Deferred(partial(self._taken, i))) for i, g in enumerate(made)]

    def _taken(self, number):
        return Tensor(self.program.held(number))

    def profile(self, arrays, repeats):
        """The program's profile on these arguments."""
        return self.program.profile(arrays, self._state(), repeats)

    def _state(self):
        return [c.value.data if c.owner is None else c.owner.grad.data for c in self._captures]

    def fits(self):
        """Whether all that the trace took for granted is still so."""
        return all([(value.grad is None) == was_none for value, was_none in self._guards]) and all(
            [read() == seen for read, seen in self._watched]
        )

    def __call__(self, arrays):
        for value, read in self._numbers:
            value.data[()] = read()
        outputs = iter(self.program(arrays, self._state()))
        results = [Tensor(next(outputs)) if isinstance(r, Symbol) else r for r in self._results]
        for value in self._cleared:
            value.grad = None
        for value, gradient in self._made:
            value.grad = gradient
        return self._rebuild(results)


def _contiguous(leaf):
    return np.ascontiguousarray(leaf.data if isinstance(leaf, Tensor) else leaf).reshape(leaf.shape)

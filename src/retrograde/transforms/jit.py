"""jit: a function, traced once per spec of its arguments, as machine code."""

import inspect
import warnings
from functools import update_wrapper
from types import ModuleType
from typing import Any

import numpy as np

from .. import tree
from ..compiler.step import Step
from ..compiler.trace import Trace
from ..core.mode import changed, current
from ..core.symbol import Symbol
from ..core.value import Value
from ..errors import ArgumentError, RetraceWarning, TraceError
from ..tensor.tensor import Tensor

#: A function that was traced this often, at each of its last calls, is warned about.
_MANY = 8


def jit(function=None, *, static_argnums=(), static_argnames=()):
    """`function`, compiled to machine code on its first call with arguments of new shapes and dtypes. Also a decorator.

    Arrays and tensors among the arguments, also inside lists, tuples, dictionaries and dataclasses, are inputs. All else,
    and each argument that `static_argnums` or `static_argnames` names, is a constant of the compiled code, which must be
    hashable: another value is compiled anew. Tensors that the function uses from outside (parameters, optimizer state)
    are read and written in place at each call. Results are tensors; plain arrays where only plain arrays are used.

    While the function is traced its values have no numbers: a value that is read, or a shape that depends on data, is a
    TraceError that says what to do.

    >>> @rg.jit
    ... def f(x):
    ...     return (rg.sin(x) ** 2).sum()
    >>> round(f(rg.tensor([0.0, 1.0])).item(), 4)
    0.7081
    """
    if function is None:
        return lambda f: jit(f, static_argnums=static_argnums, static_argnames=static_argnames)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    places = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    return Compiled(function, frozenset(names), frozenset(places))


class Compiled:
    """A function and the programs compiled for it, one per spec of its arguments."""

    def __init__(self, function, static_names=frozenset(), static_places=frozenset()):
        update_wrapper(self, function)
        self._function, self._statics = function, (static_names, static_places)
        self._programs, self._methods = {}, {}
        self._latest: Any = None
        self._last: Any = None
        self._last_key: Any = None
        self._new_in_a_row = 0

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        found = self._methods.get(id(instance))
        if found is None or found.__self__ is not instance:
            found = self._methods[id(instance)] = Compiled(self._function.__get__(instance, owner), *self._statics)
        return found

    @property
    def __self__(self):
        return getattr(self._function, "__self__", None)

    @property
    def traces(self):
        """How often the function was traced."""
        return sum(map(len, self._programs.values()))

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
        if self._latest is not None and not kwargs:
            specs, step = self._latest
            arrays = _matched(args, specs)
            if arrays is not None and step.fits():
                return step(arrays)
        return self._slowly(args, kwargs)

    def _slowly(self, args, kwargs):
        """The result for arguments that are not simply those of the last call."""
        leaves, build = tree.flatten(self._split(args, kwargs))
        key = _key(leaves, (args, kwargs))
        steps = self._programs.setdefault(key, [])
        step = next((step for step in steps if step.fits()), None)
        if step is None:
            step = _traced(self._function, leaves, build)
            steps.append(step)
            self._warn_of_many(key, args, kwargs)
        else:
            self._new_in_a_row = 0
        self._last, self._last_key = step, key
        is_flat = not kwargs and all([_is_array(a) for a in args])
        self._latest = ([_spec(a) for a in args], step) if is_flat else None
        return step([_contiguous(leaf) for leaf in leaves if _is_array(leaf)])

    def _split(self, args, kwargs):
        """The arguments with static ones as leaves of their own."""
        names, places = self._statics
        if not names and not places:
            return args, kwargs
        positions = list(inspect.signature(self._function).parameters)
        chosen = places | {i for i, name in enumerate(positions) if name in names}
        args = tuple(_Static(a) if i in chosen else a for i, a in enumerate(args))
        return args, {name: _Static(a) if name in names else a for name, a in kwargs.items()}

    def _warn_of_many(self, key, args, kwargs):
        """Say once that each call is traced anew, and which argument changes."""
        self._new_in_a_row += 1
        if self._new_in_a_row != _MANY:
            return
        changes = [f"{name}: {_told(old)}, then {_told(new)}" for name, old, new in self._changes(key, args, kwargs)]
        what = f" ({changes[0]})" if changes else "; a tensor or an option that it uses from outside changes"
        warnings.warn(f"{getattr(self._function, '__name__', 'a function')} was traced anew at each of its last {_MANY} "
                      f"calls{what}. Pass numbers that change as tensors, and keep shapes the same", RetraceWarning, stacklevel=4)

    def _changes(self, key, args, kwargs):
        """(argument, its spec at the last call, its spec now) for those that differ."""
        names = []
        for name, argument in _named(self._function, args, kwargs):
            names += [name] * len(tree.leaves(argument))
        old, new = self._last_key[1:], key[1:]
        if len(old) == len(new) == len(names):
            yield from ((n, a, b) for n, a, b in zip(names, old, new, strict=True) if a != b)


class _Static:
    """A static argument, which is a leaf whatever it is."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, _Static) and self.value == other.value

    def __hash__(self):
        return hash(self.value)


def _named(function, args, kwargs):
    positions = list(inspect.signature(function).parameters)
    names = [positions[i] if i < len(positions) else f"argument {i}" for i in range(len(args))]
    return [*zip(names, args, strict=True), *kwargs.items()]


def _told(spec):
    if isinstance(spec, tuple) and len(spec) == 3 and isinstance(spec[1], np.dtype):
        return f"{spec[1]}{list(spec[0])}"
    return repr(spec)


def _key(leaves, arguments):
    key = (tree.structure(arguments), *[_spec(leaf) for leaf in leaves])
    try:
        hash(key)
    except TypeError:
        for leaf in leaves:
            if not _is_array(leaf) and type(leaf).__hash__ is None:
                raise ArgumentError("an argument of a jitted function that is no array must be hashable, got "
                                    f"{type(leaf).__name__}; pass an array, or a tuple") from None
        raise
    return key


def _matched(args, specs):
    """The arrays of `args` if they are as `specs` has them, so that the last program can be called at once."""
    if len(args) != len(specs):
        return None
    arrays = []
    for a, (shape, dtype, is_tensor) in zip(args, specs, strict=True):
        array = a.data if a.__class__ is Tensor else a
        if array.__class__ is not np.ndarray or (array is a) is is_tensor or array.shape != shape or array.dtype is not dtype:
            return None
        arrays.append(array if array.flags.c_contiguous else np.ascontiguousarray(array))
    return arrays


def _is_array(leaf):
    return isinstance(leaf, (Tensor, np.ndarray))


def _spec(leaf):
    return (leaf.shape, leaf.dtype, isinstance(leaf, Tensor)) if _is_array(leaf) else leaf


def _traced(function, leaves, build):
    """Trace `function` on symbols for the arrays among `leaves`, and compile what was recorded."""
    trace = Trace()
    arguments = [Symbol(None, (), leaf.shape, leaf.dtype) if _is_array(leaf) else None for leaf in leaves]
    args, kwargs = build([_argument(leaf, symbol) for leaf, symbol in zip(leaves, arguments, strict=True)])
    try:
        with changed(tracer=trace):
            returned = function(*args, **kwargs)
            results, rebuild = tree.flatten(returned)
            results = [trace.symbol(r) if isinstance(r, Value) else r for r in results]
        rebuild = None if isinstance(returned, Value) else rebuild
        symbols, is_plain = [s for s in arguments if s is not None], not any([isinstance(leaf, Tensor) for leaf in leaves])
        step = Step(trace, symbols, results, rebuild, _owners(function), is_plain)
    except BaseException:
        trace.fail()
        raise
    finally:
        trace.restore()
    step.bind()
    return step


def _argument(leaf, symbol):
    """What the function is handed in a trace."""
    if symbol is None:
        return leaf.value if isinstance(leaf, _Static) else leaf
    value = Tensor(symbol)
    if isinstance(leaf, Tensor) and leaf.requires_grad and leaf.is_leaf:
        value.requires_grad = True
    return value


def _owners(function):
    """The attributes, as dictionaries, of the modules and other objects that a function finds tensors on, and whether it is a
    module: setting one of those is counted.
    """
    function = inspect.unwrap(function)
    found = [getattr(function, "__self__", None)]
    code = getattr(function, "__code__", None)
    if code is not None:
        found += [function.__globals__.get(name) for name in code.co_names]
    for cell in getattr(function, "__closure__", None) or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # a variable that is not assigned yet
            continue
    parts = {id(part): (vars(part), is_module) for holder in found for part, is_module in _parts(holder)}
    return list(parts.values())


def _parts(holder):
    """The objects that have tensors as attributes: a module and those in it, or an object of the user's own."""
    if callable(getattr(type(holder), "modules", None)):
        return [(module, True) for module in holder.modules()]
    is_plain = not isinstance(holder, (type, Tensor, ModuleType)) and not callable(holder) and hasattr(holder, "__dict__")
    return [(holder, False)] if is_plain else []


def _contiguous(leaf):
    return np.ascontiguousarray(leaf.data if isinstance(leaf, Tensor) else leaf).reshape(leaf.shape)

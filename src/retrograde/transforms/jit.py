"""jit: a function, traced once per spec of its arguments, as machine code."""

import sys
import warnings
import weakref
from functools import WRAPPER_UPDATES, partial, update_wrapper
from types import FunctionType
from typing import Any

import numpy as np

from .. import tree
from ..compiler.backends import chosen
from ..compiler.calls.step import Step
from ..compiler.run.program import SMALL
from ..compiler.trace.trace import Trace
from ..core.garbage import uncollected
from ..core.mode import changed, current, no_grad
from ..core.symbol import Symbol
from ..core.value import Value, tick
from ..errors import ArgumentError, ProgramError, RetraceWarning, TraceError
from ..ops._arrays import arrays
from ..ops.random.draws import unnoted
from ..precision import held_precision, is_current
from ..tensor.boxes import gathered
from ..tensor.shown import shown
from ..tensor.tensor import Tensor
from .export import function_name, leaf_names, result_names, write
from .loop_tracing import traced_scan
from .owners import Places
from .plain import numbers_kept, owned
from .programs import Programs
from .proxy import Forwarding
from .replay import must_run_eagerly, replay_of
from .retracing import MANY_MADE, change, made_again, named_specs
from .specs import array_of, as_input, contiguous, is_array, key_of, matched, needs_gradient, spec_of
from .statics import Static, Statics

#: The programs of a function that are kept, if it does not say: more than a program needs that has not too many shapes.
MOST_PROGRAMS = 256
#: A function that was traced this often, at each of its last calls, is warned about.
_MANY = 8


def jit(function=None, *, static_argnums=(), static_argnames=(), max_programs=MOST_PROGRAMS):
    """`function`, compiled to machine code on its first call with arguments of new shapes and dtypes. Also a decorator.

    Arrays and tensors among the arguments, also inside lists, tuples, dictionaries and dataclasses, and floats of NumPy
    (`np.float64`) are inputs. All else, and each argument that `static_argnums` or `static_argnames` names, is a constant of
    the compiled code, which must be hashable: another value is compiled anew. Places are counted without the `self` of a
    method, from the end if negative.
    Tensors that the function uses from outside (parameters, optimizer state) are read and written in place at each call.
    Results are arrays where they would be without `jit`, and tensors otherwise.

    Programs belong to what `jit` returns: call it once, and keep that. A function that is given to `jit` in a loop is compiled
    in each iteration, which a RetraceWarning says. The last `max_programs` that were used are kept, None: all; they share their
    memory.

    Of a model, or another object with a `__call__`, the result has the object's attributes, methods and items as well:
    `model = rg.jit(model)` can be trained, put in `eval()` mode, saved and loaded as before.

    Results have a history, as without `jit`, over arguments and over tensors from outside that the function reads: on the way
    back it is computed again together with its derivative, compiled as well. A step that finds its gradients inside, and updates
    what it has them for, is faster. Its results have no history over what it writes to, and none has one within `no_grad`.

    While the function is traced its values have no numbers: a value that is read, or a shape that depends on data, is a
    TraceError that says what to do.

    >>> @rg.jit
    ... def f(x):
    ...     return (rg.sin(x) ** 2).sum()
    >>> round(f(rg.tensor([0.0, 1.0])).item(), 4)
    0.7081
    """
    if function is None:
        return lambda f: jit(f, static_argnums=static_argnums, static_argnames=static_argnames, max_programs=max_programs)
    if not callable(function):
        raise ArgumentError(f"jit takes a function, got {type(function).__name__}; write jit(f), not jit(f(x))")
    if max_programs is not None and (type(max_programs) is not int or max_programs < 1):
        raise ArgumentError(f"max_programs must be None or an integer of at least 1, got {max_programs!r}")
    kind = CompiledObject if isinstance(type(function).__call__, FunctionType) else Compiled
    return kind(function, Statics(function, static_argnums, static_argnames), max_programs)


class Compiled:
    """A function and the programs compiled for it, one per spec of its arguments."""

    #: What is copied of the attributes of the function: all that it has.
    _copied: tuple = WRAPPER_UPDATES

    def __init__(self, function, statics, max_programs=MOST_PROGRAMS):
        update_wrapper(self, function, updated=self._copied)
        self._function, self._statics, self._most = function, statics, max_programs
        self._memory, self._methods = Programs(), {}

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        bound = object.__new__(Compiled)
        bound.__dict__.update(self.__dict__)
        bound._function, bound._memory = self._function.__get__(instance, owner), self._memory_of(instance)
        return bound

    def __reduce__(self):
        """A copy compiles anew. A function of a module is found there by its name."""
        name = getattr(self._function, "__qualname__", "")
        is_found = getattr(sys.modules.get(self.__module__), name, None) is self
        return name if is_found else (type(self), (self._function, self._statics, self._most))

    def __repr__(self):
        return f"<{getattr(self._function, '__qualname__', self._function)}, compiled by jit>"

    def _memory_of(self, instance):
        """What is compiled for an object, kept as long as the object lives."""
        key = id(instance)
        found = self._methods.get(key)
        if found is None:
            made = weakref.ref(instance, lambda _: self._methods.pop(key, None)), Programs()
            found = self._methods.setdefault(key, made)  # another thread may have been first
        return found[1]

    @property
    def __self__(self):
        return getattr(self._function, "__self__", None)

    @property
    def traces(self):
        """How often the function was traced."""
        return self._memory.traces

    def explain(self, passes=False):
        """The kernels of the program that ran last: what was fused into each, its loops, bytes and operations, and as
        attributes of `kernels` its LLVM code and assembly. With `passes`, what each pass of the compiler left, too. Print it.
        """
        return self._last_step().program.explain(passes)

    def profile(self, *args, repeats=20, **kwargs):
        """What `explain` gives for these arguments, with the shortest of `repeats` times of each kernel.

        The function is called once; after that kernels run on copies of the tensors that it writes.
        """
        self(*args, **kwargs)
        leaves = map(as_input, tree.flatten((args, kwargs))[0])
        return self._last_step().profile([contiguous(leaf) for leaf in leaves if is_array(leaf)], repeats)

    def export(self, path, *args, target="host", **kwargs):
        """Write the program for these example arguments to the file `path`, as machine code, and a header for C beside it.

        The file holds the weights and all other state that the function uses, and runs without Python or without retrograde: by
        the loader in C, or by `retrograde.runtime`, with the same numbers to the bit. Shapes and dtypes are those of the arguments.
        State that the function changes, as a generator's, is carried on from what it is now. The function is not called.

        target  "host", the processor that this process makes code for, or "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4" or
                "aarch64", all on Linux

        A ProgramError names the ops that have no machine code, or what else keeps the function from being exported; nothing is
        written then.
        """
        write(path, [self.exported(function_name(self._function), args, kwargs)], target)

    def exported(self, name, args, kwargs):
        """What a file is to hold of a call with these arguments, under a name."""
        mode, memory = current(), self._memory
        if mode is not None and mode.tracer is not None:
            raise TraceError("a function cannot be exported while another one is traced; export it outside")
        split = self._statics.marked(self._function, args, kwargs)
        leaves = list(map(as_input, tree.leaves(split)))
        with memory.lock:
            step, _ = self._step(key_of(leaves, (args, kwargs), mode is None or mode.records), split, leaves)
            names = leaf_names(self._function, *split)
            if step.__class__ is _Eager:
                raise ProgramError(f"{name} cannot be exported: it is not compiled but runs as it is, since what it does to its "
                                   "arguments or their gradients is seen outside")
            inputs = [known for known, leaf in zip(names, leaves, strict=True) if is_array(leaf)]
            return step.exported(name, inputs, result_names)

    def _last_step(self):
        if self._memory.last is None:
            raise TraceError("nothing is compiled yet; call the function once, then ask")
        return self._memory.last

    def __call__(self, *args, **kwargs):
        mode, memory = current(), self._memory
        quick = memory.quick
        if quick is not None and not kwargs and mode == memory.quick_mode:
            with memory.lock:
                found = quick(args) if quick is memory.quick else NotImplemented
            if found is not NotImplemented:
                memory.row.count = 0
                return found
        if mode is not None and (mode.tracer is not None or mode.finds_anomalies or not mode.runs_compiled):
            return owned(self._function(*args, **kwargs))  # as what is compiled gives
        with memory.lock:
            if memory.latest is not None and not kwargs:
                specs, records, step = memory.latest
                arrays = matched(args, specs, step.targets) if records is (mode is None or mode.records) else None
                if arrays is not None and step.fits(arrays):
                    memory.row.count = 0
                    return step(arrays)
            return self._slowly(memory, args, kwargs, mode is None or mode.records)

    def _slowly(self, memory, args, kwargs, records):
        """The result for arguments that are not simply those of the last call."""
        split = self._statics.marked(self._function, args, kwargs)
        given = tree.leaves(split)
        leaves = list(map(as_input, given))
        key = key_of(leaves, (args, kwargs), records)
        step, is_new = self._step(key, split, leaves)
        if is_new:
            self._warn_of_many(*split)
        else:
            memory.row.count = 0
        memory.note(key, step, self._most)
        if step.__class__ is _Eager or step.meets(list(map(array_of, given))):
            return self._function(*args, **kwargs)
        memory.last = step
        is_flat = not kwargs and not step.rewritten and not step.in_rows and all([is_array(a) for a in args])
        specs = [(*spec_of(a, records), a.nbytes <= SMALL) for a in args] if is_flat else []
        memory.latest = (specs, records, step) if is_flat else None
        is_quick = is_flat and not any([needs_gradient(a, records) for a in args])
        memory.quick_mode = current()  # first: who reads the new way without the lock finds its mode
        memory.quick = step.quick(specs) if is_quick else None
        if not is_current(step.precision):  # another thread has set one meanwhile, and what it had forgotten is there again
            memory.forget_latest()
        arrays = [leaf for leaf in leaves if is_array(leaf)]
        returned = step(list(map(contiguous, arrays)), [getattr(a, "record", None) for a in arrays])
        return _written_back(returned, step.rewritten, given) if step.rewritten else returned

    def _step(self, key, split, leaves) -> Any:
        """The program for arguments, and whether it was made now."""
        memory = self._memory
        steps = memory.programs.setdefault(key, [])
        step = next((step for step in steps if step.fits()), None)
        if step is not None:
            return step, False
        with held_precision() as level:
            step = _traced(self._function, leaves, tree.flatten(split)[1], key[1], memory.room)
        step.precision = level.asked
        memory.traces += 1
        steps.append(step)
        return step, True

    def _warn_of_many(self, args, kwargs):
        """Say once that each call is traced anew, and what changes."""
        memory = self._memory
        memory.row.count += 1
        if self.traces == 1 and (place := made_again(self._function, memory.row)) is not None:
            warnings.warn(f"the function at {place} was given to jit {MANY_MADE} times, and compiled anew each time for one call. "
                          "Call jit once, outside of the loop, and keep what it returns", RetraceWarning, stacklevel=4)
        if memory.row.count not in (_MANY - 1, _MANY):
            return
        specs = named_specs(self._function, args, kwargs, lambda leaf: spec_of(as_input(leaf), True))
        before, memory.last_specs = memory.last_specs, specs
        if memory.row.count == _MANY:
            found = change(before, memory.last_specs)
            outside = memory.last.changed() if found is None and memory.last is not None else None
            what = f" ({found})" if found else f"; {outside or 'something'} that it uses from outside changes"
            name = getattr(self._function, "__name__", "a function")
            warnings.warn(f"{name} was traced anew at each of its last {_MANY} calls{what}. Pass numbers that change as tensors, "
                          "and keep shapes the same", RetraceWarning, stacklevel=4)


class CompiledObject(Forwarding, Compiled):
    """An object that is called, and the programs compiled for it."""

    _copied = ()


class _Eager:
    """In place of a program for a function that is called as it is: what it does with the gradients of its arguments is seen by
    the caller, or two tensors from outside share memory that it writes to.
    """

    precision: Any = None

    def fits(self, _arguments=()):
        """Whether this serves; always."""
        return True


@uncollected()
def _traced(function, leaves, build, records, room):
    """Trace `function` on symbols for the arrays among `leaves`, and compile what was recorded."""
    chosen().expect()
    trace = Trace()
    trace.scan, trace.shown = traced_scan, shown
    inputs = [_argument(leaf, records) for leaf in leaves]
    numbers = [i for i, leaf in enumerate(leaves) if is_array(leaf)]
    for i in numbers:
        trace.born(inputs[i])
    symbols = [inputs[i].raw for i in numbers]
    trace.plain.update({inputs[i].raw: not isinstance(leaves[i], Tensor) for i in numbers})
    args, kwargs = build(inputs)
    before, start = Places(function), tick()
    try:
        for value in before.tensors():
            trace.freeze(value)
        with changed(tracer=trace, keeps_arrays=True), unnoted():
            returned = tree.map(gathered, numbers_kept(function, args, kwargs))
            results, rebuild = tree.flatten(returned)
            written = [i for i, symbol in zip(numbers, symbols, strict=True) if inputs[i].raw is not symbol]
            arguments = [inputs[i] for i in numbers]
            replay = replay_of(trace, symbols, arguments, results, start)
            if must_run_eagerly(trace, arguments, results, replay, written):
                trace.fail()
                return _Eager()
            outputs = [*results, *[inputs[i] for i in written]]
            kinds = [None if isinstance(r, Value) and trace.is_plain(r) else getattr(r, "kind", arrays.kind) for r in outputs]
            outputs = [trace.symbol(r) if isinstance(r, Value) else r for r in outputs]
        rebuild = _first if isinstance(returned, Value) else rebuild
        whole = partial(_parted, rebuild, len(results)) if written else None if rebuild is _first else rebuild
        before.check_rebound(trace.captured())
        before.check_hooks()
        trace.check_outside()
        step = Step(trace, symbols, outputs, whole, Places(function, before), kinds, replay, room)
    except BaseException as error:
        trace.fail()
        trace.frozen.explain(error)
        raise
    finally:
        trace.restore()
    step.rewritten = written
    step.in_rows = [i for i, symbol in zip(numbers, symbols, strict=True) if symbol in trace.in_rows]
    step.bind()
    return step


def _argument(leaf, records):
    """What the function is handed in a trace."""
    if not is_array(leaf):
        return leaf.value if isinstance(leaf, Static) else leaf
    value = arrays.made(Symbol(None, (), leaf.shape, leaf.dtype), None, getattr(leaf, "kind", None))
    if needs_gradient(leaf, records):
        value.requires_grad = True
    return value


def _first(values):
    return values[0]


def _parted(rebuild, count, values):
    """What a function returned, and what it wrote to its arguments."""
    values = list(values)
    return rebuild(values[:count]), values[count:]


def _written_back(returned, places, leaves):
    """Write what the function wrote to its arguments, which it had a copy of; what it returned."""
    found, arrays = returned
    with no_grad():
        for place, array in zip(places, arrays, strict=True):
            if not isinstance(leaves[place], np.inexact):  # `x += 1` of a number gives x another one, here as in eager code
                leaves[place][...] = array
    return found

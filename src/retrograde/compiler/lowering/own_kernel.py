"""Own kernels: the kernel of a user's op as the op's expansion, where it can be traced and then gives what NumPy gives.

A kernel is a black box. It is looked into only if it gives for tensors the shapes, dtypes and numbers that it gives for arrays, and
if all that it reads is its arguments and what does not change; otherwise the op stays a library call.
"""

from itertools import cycle
from weakref import WeakKeyDictionary

import numpy as np

from ...core.mode import changed
from ...core.symbol import Symbol, replaced
from ...core.value import Value
from ...ops._arrays import arrays
from ...ops._samples import call, uniform
from .purity import is_pure

#: More numbers than this are not drawn to compare.
_MOST = 1 << 22
#: An op by element is compared on sizes of at most so many, which show how it broadcasts.
_FEW = 3
#: How far two results may lie apart, by the bytes of a number: rounding, not another meaning.
_TOLERANCES = {2: 3e-2, 4: 1e-4}
_FINEST = 1e-9
#: Whether a kernel has given for tensors what it gave for arrays, by op and by what a call depends on.
_agreed = WeakKeyDictionary()


def is_own(op):
    """Whether the kernel of `op` is all that is known of it, so that it is worth a look; not so one with an effect, which a look
    would have.
    """
    is_candidate = getattr(op, "is_foreign", False) and not op.has_effect
    return is_candidate and op.emit is None and op.expansion is None and op.algebra is arrays


def traced_kernel(node, args, trace):
    """The graph of what the kernel of a node's op does with `args`, recorded by `trace`, a tuple of graphs for several results;
    NotImplemented where only NumPy can tell.
    """
    op = node.op
    try:
        if not (is_pure(op.kernel) and _agrees(op, args)):
            return NotImplemented
        with changed(tracer=trace, records=False):
            found = op.kernel(*replaced(args, arrays.made))
        parts = tuple([z.raw if isinstance(z, Value) else z for z in (found if op.is_multiple else (found,))])
        # The graph around was recorded with what the kernel gave for arrays: nothing else may come out.
        is_alike = op.is_multiple or (parts[0].shape, parts[0].dtype) == (node.shape, node.dtype)
    except Exception:  # noqa: BLE001 - what cannot be traced is called as it is, and tells then what is wrong
        return NotImplemented
    return NotImplemented if not is_alike else parts if op.is_multiple else parts[0]


def _agrees(op, args):
    # Once for each form of a call: comparing runs the kernel twice.
    known, key = _agreed.setdefault(op, {}), tuple(map(_spec, args))
    if key not in known:
        known[key] = _compared(op, args)
    return known[key]


def _spec(argument):
    if isinstance(argument, (Symbol, np.ndarray)):
        return argument.shape, argument.dtype
    if isinstance(argument, (tuple, list)):
        return argument.__class__, tuple(map(_spec, argument))
    return argument.__class__, repr(argument)


def _compared(op, args):
    """Whether the kernel gives for tensors what it gives for arrays, on numbers drawn for a call like this one."""
    samples = op.samples if isinstance(op.samples, tuple) else (op.samples,)
    has_domains = samples[0] is not None and not isinstance(samples[0], call)
    domains, rng = cycle(samples if has_domains else (uniform(),)), np.random.default_rng(0)
    # An op by element shows all it does on small arrays; of others shapes decide, and are taken as they are.
    if not op.broadcasts and sum([n.size for n in _arrays_in(args)]) > _MOST:
        return False
    most = _FEW if op.broadcasts else None
    drawn = [_drawn(argument, next(domains), rng, most) for argument in args]
    with np.errstate(all="ignore"), changed(tracer=None, records=False):
        wanted, found = op.kernel(*drawn), op.kernel(*_as_tensors(drawn))
    return _are_equal(found, wanted)


def _arrays_in(args):
    for argument in args:
        if isinstance(argument, (tuple, list)):
            yield from _arrays_in(argument)
        elif isinstance(argument, (Symbol, np.ndarray)):
            yield argument


def _drawn(argument, domain, rng, most):
    """An argument with an array for a symbol, which the kernel cannot write to, of sizes of at most `most`."""
    if isinstance(argument, (tuple, list)):
        return argument.__class__([_drawn(a, domain, rng, most) for a in argument])
    if not isinstance(argument, (Symbol, np.ndarray)):
        return argument
    shape = tuple([n if most is None else min(n, most) for n in argument.shape])
    if isinstance(argument, np.ndarray):
        array = argument[tuple(map(slice, shape))].copy()
    elif argument.dtype.kind == "c":
        array = (domain.draw(rng, shape, np.float64) + 1j * domain.draw(rng, shape, np.float64)).astype(argument.dtype)
    elif argument.dtype.kind == "b":
        array = domain.draw(rng, shape, np.float64) > 0
    else:
        array = np.asarray(domain.draw(rng, shape, np.float64)).astype(argument.dtype)
    array.flags.writeable = False
    return array


def _as_tensors(args):
    return [a.__class__(_as_tensors(a)) if isinstance(a, (tuple, list)) else arrays.made(a) if isinstance(a, np.ndarray) else a
            for a in args]


def _are_equal(found, wanted):
    """Whether results are of the same structure, shapes and dtypes, and of the same numbers but for rounding."""
    if isinstance(wanted, (tuple, list)):
        are_alike = isinstance(found, (tuple, list)) and len(found) == len(wanted)
        return are_alike and all([_are_equal(*pair) for pair in zip(found, wanted, strict=True)])
    found, wanted = np.asarray(found.raw if isinstance(found, Value) else found), np.asarray(wanted)
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return False
    if wanted.dtype.kind not in "fcV":
        return np.array_equal(found, wanted)
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    found, wanted, bytes_of_one = found.astype(wide), wanted.astype(wide), wanted.real.dtype.itemsize
    tolerance = _TOLERANCES.get(bytes_of_one, _FINEST)
    # Numbers that are all NaN tell nothing.
    is_told = not wanted.size or np.isfinite(wanted).any()
    return bool(is_told and np.allclose(found, wanted, tolerance, tolerance, equal_nan=True))

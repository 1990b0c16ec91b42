"""Rows: eager functions that compute with each row of their arrays, by one kernel for rows of any number and length."""

import math
from collections import Counter
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ....core.symbol import Symbol
from ....errors import RetrogradeError
from . import fast_calls
from .host import target
from .units import library, unit_of

_FLOATS = frozenset([np.dtype(np.float32), np.dtype(np.float64)])
_PLAIN = frozenset([int, float, bool, str, type(None)])
#: Sums of longer rows would lose too much, one vector after the other; above that programs sum in parts.
_LONGEST = 8192
#: Kernels by what they depend on; None for what has none.
_known: dict = {}
#: Kernels of a function, and how many it may have: of two types, some forms of its operands and a few parameters.
_counts: Counter = Counter()
_MOST_KERNELS = 64


class Planned(NamedTuple):
    """A function for arguments of certain shapes: it is called with the arrays among these, at the positions `takes`, then with
    `outs`, arrays to be made by shape and dtype, of which it returns the last one once all are computed.

    given  which parts of a tuple are there; None for one result
    """

    call: Any
    takes: tuple
    outs: tuple
    given: tuple | None


class _Layout(NamedTuple):
    """How rows lie in arrays of `shape` that are reduced over `axes`."""

    shape: tuple
    axes: tuple
    is_flat: bool
    #: The shape of operands with one number for each row, if they have fewer axes.
    trimmed: tuple | None = None

    @property
    def kept(self):
        """The shape of what has one number for each row, the reduced axes with size 1."""
        return tuple([1 if i in self.axes else n for i, n in enumerate(self.shape)])

    @property
    def dropped(self):
        """The same without the reduced axes."""
        return tuple([n for i, n in enumerate(self.shape) if i not in self.axes])

    @property
    def place(self):
        """The shape of what has one number for each place in a row."""
        return tuple([n if i in self.axes else 1 for i, n in enumerate(self.shape)])

    @property
    def channel(self):
        """The shape of what has one number for each channel, where groups of them are reduced; None where there are no such."""
        return (*self.shape[1:3], 1) if len(self.shape) == 4 and self.axes == (2, 3) else None

    def sizes(self, form):
        """The numbers of `row_kernel.SIZES` for a form; None where rows are not that regular."""
        if form == "groups":
            batch, groups, channels, width = self.shape
            return batch * groups, channels * width, channels, width, width, groups
        found = self._regular()
        return None if found is None else (*found, 1)

    def _regular(self):
        first, last, ndim = self.axes[0], self.axes[-1], len(self.shape)
        count = lambda axes: math.prod([self.shape[a] for a in axes])
        inner = count(range(last + 1, ndim))
        if self.axes == tuple(range(first, last + 1)):  # side by side
            length = count(self.axes)
            if inner == 1:
                return count(range(first)), length, 1, 0, length
            return (inner, 1, length, inner, 1) if first == 0 else None
        middle = tuple(range(1, ndim))
        kept = tuple([i for i in middle if i not in self.axes])
        # As images are normalized: over examples and places, for each channel.
        if self.axes == (0, *range(1 + len(kept), ndim)):
            width = count(range(1 + len(kept), ndim))
            return count(kept), width, self.shape[0], count(middle), width
        return None


def planned(name, traced, names, args):
    """What computes the function `traced` of values for arguments like `args`, called `names`; None where there is no kernel.

    `name` is what the function is known by in every process.
    """
    layout = _layout(names, args)
    if layout is None:
        return None
    arrays = [a for a in args if a.__class__ is np.ndarray]
    dtype = arrays[0].dtype
    if dtype not in _FLOATS or any(a.dtype != dtype for a in arrays):
        return None
    roles = tuple([_role(*pair, layout) for pair in zip(names, args, strict=True)])
    if None in roles:
        return None
    form = "flat" if layout.is_flat else "groups" if any([role == "channel" for _, role in roles]) else "rows"
    sizes = layout.sizes(form)
    if sizes is None or sizes[2] * sizes[4] > _LONGEST:
        return None
    key = name, dtype.name, form, roles
    if key not in _known:
        # Its parameters are part of a kernel: one that changes from call to call, as a rate that falls, is left to NumPy.
        if _counts[name] >= _MOST_KERNELS:
            return None
        _counts[name] += 1
        _known[key] = _kernel(key, traced)
    if _known[key] is None:
        return None
    address, shapes, given, (least_rows, least_length) = _known[key]
    if sizes[0] < least_rows or sizes[2] * sizes[4] < least_length:
        return None
    # Without what a reduction gave, or its cotangent, which may have lost the same axes.
    shapes_of_operands = [_shape_of(*pair) for pair in zip(names, args, strict=True) if pair[0] not in ("g", "z")]
    trimmed = {shape for shape in shapes_of_operands if shape is not None and _is_trimmed(shape, layout)}
    if len(trimmed) > 1:
        return None
    # What has one number for each row and goes back to an operand has its shape, without leading ones.
    layout_of_results = layout._replace(trimmed=next(iter(trimmed), None))
    outs = tuple([(_result_shape(shape, layout_of_results), np.dtype(kind)) for shape, kind in shapes])
    call = fast_calls.by_rows(address, len(arrays) + len(outs), sizes)
    takes = tuple([i for i, a in enumerate(args) if a.__class__ is np.ndarray])
    return None if call is None else Planned(call, takes, outs, given)


def _shape_of(name, argument):
    return argument.shape if argument.__class__ is np.ndarray else argument if name.endswith("_shape") else None


def _is_trimmed(shape, layout):
    missing = len(layout.shape) - len(shape)
    return missing > 0 and (1,) * missing + shape == layout.kept


def _layout(names, args):
    """How rows lie: in the greatest of the shapes, reduced over `axis`; all is one row if there is none. None if unknown."""
    named = dict(zip(names, args, strict=True))
    shapes = [a.shape for a in args if a.__class__ is np.ndarray]
    shapes += [named["x_shape"]] if "x_shape" in named else []
    shape = max(shapes, key=math.prod, default=())
    axis, ndim = named.get("axis"), len(shape)
    if not shape or 0 in shape:
        return None
    axes = range(ndim) if axis is None else axis if axis.__class__ is tuple else (axis,)
    if not all([a.__class__ is int and -ndim <= a < ndim for a in axes]):
        return None
    axes = tuple(sorted([a % ndim for a in axes]))
    if not axes or len(set(axes)) < len(axes):
        return None
    return _Layout(shape, axes, len(axes) == ndim)


#: What an array or a shape has one number for: each element, each row with and without the reduced axes, each place in a row, each
#: channel.
_ROLES = ("full", "kept", "dropped", "place", "channel")


def _role(name, argument, layout):
    """What an argument is to the kernel: (kind, a role, or the value of a parameter); None for what it cannot take."""
    if name == "axis":
        return "axis", None
    is_array = argument.__class__ is np.ndarray
    if argument.__class__ is tuple and not argument and name.endswith("_shape"):
        return "value", argument  # of an operand that is not there
    if is_array or name.endswith("_shape"):
        role = _role_of_shape(name, argument.shape if is_array else argument, layout)
        return None if role is None else ("array" if is_array else "shape", role)
    if argument.__class__ in _PLAIN or argument.__class__ is tuple and all([part.__class__ in _PLAIN for part in argument]):
        return "value", argument
    return None


def _role_of_shape(name, shape, layout):
    if shape is None or shape.__class__ is not tuple:
        return None
    if shape == layout.shape:
        return "full"
    if layout.is_flat and shape and name not in ("g", "z"):
        return None  # it would be repeated, of which users are warned in places
    if shape == layout.kept:
        return "kept"
    # What a reduction gave, or its cotangent, has lost axes; an operand is broadcast, from the last axis on.
    if name in ("g", "z"):
        return "dropped" if shape == layout.dropped else None
    widened = (1,) * (len(layout.shape) - len(shape)) + shape
    if widened == layout.kept:
        return "kept"
    if widened == layout.place and shape == layout.shape[layout.axes[0] :]:
        return "place"
    return "channel" if shape == layout.channel else None


def _kernel(key, traced):
    """The address of a kernel, the role and the dtype of each result, which parts of a tuple there are, and the least sizes that it
    is for; None for no kernel.
    """
    _, dtype, form, roles = key
    code = import_module(f"{__package__}.row_functions")
    given = []

    def function(*args):
        found = traced(*args)
        given[:] = [[part is not None for part in found] if isinstance(found, tuple) else None]
        return found

    axis = code.axis_of(form)
    try:
        graph = code.row_graph(function, lambda shapes: [_argument(role, shapes, np.dtype(dtype), axis) for role in roles], form)
    except (code.UnknownRowsError, RetrogradeError):
        return None  # NumPy tells what is wrong
    shapes = code.first_shapes(form)
    count = sum(kind == "array" for kind, _ in roles)
    unit = unit_of(("rows", *key, graph.key()), lambda module, symbol: _write(module, symbol, graph, dtype, count), target())
    library().load([unit])
    results = zip(graph.shapes, graph.results, strict=True)
    roles_of_results = [_result_role(tuple(shape), space, shapes) for shape, (_, space, _) in results]
    if None in roles_of_results:
        return None
    kinds = [kind for _, _, kind in graph.results]
    described = tuple(zip(roles_of_results, kinds, strict=True))
    return library().address(unit.name), described, given[0] and tuple(given[0]), _least(graph)


def _least(graph):
    """The least number of rows, and the least length, for which what is made of them by subtraction is still positive: below,
    functions of values do something else.
    """
    made = [found for value in graph.values for kind, found in getattr(value, "arguments", ()) if kind == "size"]
    return tuple([max([1 - size.more for size in made if size.is_length is is_length], default=1) for is_length in (False, True)])


def _argument(role, shapes, dtype, axis):
    """An argument of a trace."""
    kind, value = role
    if kind == "axis":
        return axis
    if kind == "value":
        return value
    shape = getattr(shapes, value)
    return Symbol(None, (), shape, dtype) if kind == "array" else shape


def _result_role(shape, space, shapes):
    if space in ("place", "channel"):
        return space if shape == getattr(shapes, space) else None
    return next((role for role in _ROLES if shape == getattr(shapes, role)), None)


def _result_shape(role, layout):
    if role == "full":
        return layout.shape
    if role == "place":
        return layout.shape[layout.axes[0] :]
    if role == "channel":
        return layout.channel
    if role == "kept":
        return layout.kept if layout.trimmed is None else layout.trimmed
    return layout.dropped


def _write(module, symbol, graph, dtype, count):
    """Write the kernel. What does is loaded when something must be compiled."""
    import_module(f"{__package__}.codegen.eager.row_kernel").write_rows(module, symbol, graph, dtype, count)

"""What eager ops ask of the compiler for arrays of some hundred elements, and the code that it would write for them.

Nothing is compiled: the code is told of, and NumPy computes.
"""

from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu import functions, rows, small
from retrograde.core.value import Value
from retrograde.dtypes import is_float
from retrograde.errors import RetrogradeError
from retrograde.ops import _native
from tests.sweeping import every_case

from .telling import of_code

F = rg.nn.functional
#: Where there are rows: of a matrix, of its columns, of more axes, all in one, for channels, and of too many elements each.
_LAYOUTS = (((25, 40), -1), ((25, 40), 0), ((7, 3, 20), (1, 2)), ((7, 3, 20), 1), ((9, 30), None), ((4, 5, 6, 7), (0, 2, 3)), ((3, 9000), 1),
            ((3, 5, 60), (0, 1)), ((257,), 0), ((257, 1), 1))
_ADDRESS = 1 << 20


class _Units:
    """Stands for the library of units: notes the code that it is to load."""

    def __init__(self, lines):
        self._lines = lines

    def load(self, units):
        self._lines += [f"  {of_code(unit)}" for unit in units if hasattr(unit, "write")]

    def address(self, _):
        return _ADDRESS


@contextmanager
def _told(lines, target):
    """Within it eager ops are computed by NumPy, and what they ask for is told in `lines`."""
    def planned_rows(name, traced, names, args):
        found = rows.planned(name, traced, names, args)
        sizes = layout.sizes() if (layout := rows._layout(names, args)) is not None else None
        lines.append(f"rows of {_name(name)}: {sizes}, {'none' if found is None else (found.takes, found.outs, found.given)}")

    def by_element(name, traced, dtype, count):
        found = functions.fast_function(name, traced, dtype, count)
        lines.append(f"elements of {_name(name)}: {count} of {dtype}{', none' if found is None else ''}")

    def all_elements(name, traced, arrays):
        by_element(name, traced, arrays[0].dtype, len(arrays))
        return NotImplemented

    def small_kernel(name, dtype, sizes, count):
        small._address(name, dtype)
        lines.append(f"small {name}: {sizes}, {count} arrays of {dtype}")

    asked = {"planned_rows": planned_rows, "fast_function": by_element, "function": all_elements, "small": small_kernel}
    with pytest.MonkeyPatch.context() as patch:
        for module in (rows, functions, small):
            patch.setattr(module, "library", lambda: _Units(lines))
            patch.setattr(module, "target", lambda: target)
        for module, name, empty in ((rows, "_known", {}), (rows, "_counts", Counter()), (functions, "_known", {}), (small, "_addresses", {})):
            patch.setattr(module, name, empty)
        patch.setattr(_native.native, "found", asked | dict.fromkeys(("shaped", "product", "fill"), lambda *_: NotImplemented))
        yield


def _name(name):
    return " ".join(map(str, name))


#: Functions that ask for rows of several operands.
_LAYERS = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), [((25, 40), (40,), (40,)), ((5, 6, 40), (40,), (40,)), ((300, 1), (1,), (1,))]),
    "rms_norm": (lambda x, w: F.rms_norm(x, x.shape[-1:], w), [((25, 40), (40,)), ((5, 6, 40), (40,))]),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), [((3, 4, 30), (4,), (4,))]),
    "batch_norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), [((30, 4, 5), (4,), (4,)), ((30, 40), (40,), (40,))]),
    "cross_entropy": (lambda x: F.cross_entropy(x, np.arange(len(x)) % 3), [((30, 40),), ((400, 3),)]),
    "huber_loss": (lambda x, y: F.huber_loss(x, y), [((300,), (300,)), ((25, 40), (25, 40))]),
    "mse_loss": (lambda x, y: F.mse_loss(x, y), [((300,), (300,)), ((25, 40), (25, 40))]),
    "losses of elements": (lambda x, y: F.huber_loss(x, y, reduction="none"), [((300,), (300,))]),
    "two axes": (lambda x: rg.softmax(x, axis=0) + rg.mean(x, axis=1, keepdims=True) + rg.var(x, axis=0), [((30, 40),)]),
    "lstm": (lambda x, *w: rg.ops.get("lstm_layer").call(x, *w)[0], [((9, 3, 44), (3, 11), (3, 11), (44, 11))]),
    "a product": (lambda x, y: x @ y, [((20, 30), (30, 10)), ((5, 20, 30), (30, 10)), ((20, 300), (300,))]),
    "elements along an axis": (lambda x: rg.take_along_axis(x, np.zeros((20, 3), np.int64), 1), [((20, 30),)]),
    "an order": (lambda x: rg.argsort(x, axis=-1), [((20, 30),), ((3, 300),)]),
}


def lines_of(name, target):
    """What an op asks for, and its derivative, of rows and of elements."""
    lines = []
    with _told(lines, target), np.errstate(all="ignore"):
        for function, args, named in _calls(name):
            lines.append(f"{', '.join([str(getattr(a, 'shape', a)) for a in args])} {named or ''}".rstrip())
            try:
                _run(function, args, named)
            except (RetrogradeError, ValueError, TypeError) as error:
                lines.append(type(error).__name__)
    return lines


def _calls(name):
    """(function, arrays, parameters) of the calls of an op or a layer."""
    rng = np.random.default_rng(0)
    if name in _LAYERS:
        function, shapes = _LAYERS[name]
        yield from ((function, [rng.standard_normal(shape) for shape in one], {}) for one in shapes)
        return
    op = rg.ops.get(name)
    if "axis" in op.arguments and op.operands == (0,):
        yield from ((op.call, [rng.standard_normal(shape)], {"axis": axis}) for shape, axis in _LAYOUTS)
        yield op.call, [rng.standard_normal((25, 40)).astype("f4")], {"axis": -1}
    elif op.broadcasts and op.operands:
        count = len(op.operands)
        yield from ((op.call, [rng.uniform(0.1, 0.9, (300,)).astype(dtype) for _ in range(count)], {}) for dtype in ("f4", "f8"))
        yield op.call, [rng.uniform(0.1, 0.9, (3000,)), *[rng.uniform(0.1, 0.9, ()) for _ in range(count - 1)]], {}


def _run(function, args, named):
    found = function(*[rg.tensor(a, requires_grad=True) for a in args], **named)
    for z in found if isinstance(found, tuple) else (found,):
        if isinstance(z, Value) and is_float(z.dtype) and z.requires_grad:
            z.backward(rg.ones(z.shape, dtype=z.dtype))
            return


def names():
    """What is called: ops, and layers."""
    ops = dict.fromkeys([case.op.name for _, case in every_case()])
    return [*_LAYERS, *[name for name in ops if name not in _LAYERS and list(_calls(name))]]

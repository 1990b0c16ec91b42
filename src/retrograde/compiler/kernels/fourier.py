"""Discrete Fourier transforms along one axis."""

from math import prod, sqrt

from ...core.symbol import Symbol
from ...dtypes import name_of, parts_dtype
from .. import cost
from ..index.fourier import Transform, has_many_lines
from .kernel import Kernel, Scratch, launch

#: For each op: whether it reads and makes real numbers, the sign of its exponents, and the norm with which it divides.
_OPS = {"transform_axes": (False, False, -1, "forward"), "inverse_transform_axes": (False, False, 1, "backward"),
        "real_transform": (True, False, -1, "forward"), "inverse_real_transform": (False, True, 1, "backward")}
#: Longer lines, which no cache holds in vectors, are transformed by NumPy, and so are lengths with factors that code does not know.
_LONGEST = 1 << 14


class Fourier(Kernel):
    """A transform of lines."""

    name = "transform"

    def matches(self, node, facts):
        return bool(node.size) and _transform_of(node) is not None

    def launches(self, step, assembler):
        node = step.roots[0]
        found = _transform_of(node)
        if has_many_lines(found):
            code = assembler.code("fourier.lanes")
            plan, write = code.plan_transform(found, assembler.target), code.write_transform
        else:
            code = assembler.code("fourier.lines")
            plan, write = code.plan_lines(found, assembler.target), code.write_lines
        scratch = Scratch(2 * plan.buffer_bytes * plan.chunks)
        buffers = assembler.layout(step, node.args[0])[0], assembler.storage(node), plan.table, scratch
        return launch(step, plan, write, buffers, node.size * cost.TRANSFORM_SECONDS, assembler)


def _transform_of(node):
    """The `Transform` that a node is; None where NumPy computes it."""
    x, (is_from_real, is_to_real, sign, dividing) = node.args[0], _OPS[node.op.name]
    if not isinstance(x, Symbol) or name_of(parts_dtype(x.dtype)) not in ("float32", "float64"):
        return None
    axis, norm = _axis_and_norm(node)
    if axis is None or (x.dtype.kind == "f") is not is_from_real or x.dtype.kind not in "fc":
        return None
    axis %= x.ndim
    size = node.shape[axis] if is_to_real else x.shape[axis]
    scale = 1 / size if norm == dividing else 1 / sqrt(size) if norm == "ortho" else 1.0
    dtype = name_of(parts_dtype(x.dtype))
    found = Transform(dtype, is_from_real, is_to_real, sign, scale, size, prod(x.shape[:axis]), prod(x.shape[axis + 1 :]))
    return found if _has_kernel(found) else None


def _axis_and_norm(node):
    """The only axis of a transform, None where there are several, and its norm."""
    axis, norm = node.args[-2:]
    if isinstance(axis, (tuple, list)):
        axis = axis[0] if len(axis) == 1 else None
    return axis, norm or "backward"


def _has_kernel(transform):
    """Whether a line is of a length that kernels know; one of real numbers is seen as complex ones, two at a time."""
    is_real = transform.is_from_real or transform.is_to_real
    # Two neighbours are one complex number: an odd length has none for the last.
    if is_real and (transform.size % 2 or transform.size == 2 and not has_many_lines(transform)):
        return False
    return 2 <= transform.size <= _LONGEST and transform.factors is not None

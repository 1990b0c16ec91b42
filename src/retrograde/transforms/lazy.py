"""Lazy mode: ops build graphs, which are compiled and run when somebody reads a value."""

from .. import tree
from ..core.mode import changed, current
from ..tensor.lazily import Lazily
from ..tensor.lazy import settle


class lazy(changed):  # noqa: N801 - reads as a statement: `with lazy():`
    """Within it, ops on tensors build a graph instead of running. A context manager and a decorator.

    A value is computed when it is read: by `realize`, `float`, `print`, `numpy`, `if`, and by every op outside the block. What
    it needs is then compiled into one program, fused as under `jit`. Graphs of the same structure are compiled once, whatever
    the numbers in their leaves; Python numbers are part of the structure, so pass those that change as tensors. Shapes and
    dtypes are known at once, and so are errors in them.

    `backward` inside the block is lazy as well; a loss and its gradients are computed together. Writing in place to a tensor,
    by its operators or by an optimizer, leaves what was built on it before as it was. An array of NumPy's that was made a
    tensor without a copy must not be written to through NumPy while values wait that read it.

    >>> x = rg.tensor([1.0, 2.0])
    >>> with rg.lazy():
    ...     y = rg.sin(x) * 2
    >>> y
    tensor([1.682942 , 1.8185949])
    """

    def __init__(self):
        super().__init__()

    def _recreate_cm(self):
        return type(self)()

    def __enter__(self):
        mode = current()
        tracer = None if mode is None else mode.tracer
        self._fields = {"tracer": Lazily() if tracer is None else tracer}  # inside jit, jit goes on
        super().__enter__()


def realize(*values):
    """Compute all lazy tensors among `values`, which may be trees, in one program; returns them.

    >>> with rg.lazy():
    ...     x = rg.ones(3)
    ...     total, mean = rg.realize(x.sum(), x.mean())
    """
    settle(tree.leaves(values))
    return values[0] if len(values) == 1 else values

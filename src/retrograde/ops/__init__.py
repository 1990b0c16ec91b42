"""The registry of ops: look one up, list them, or add one.

>>> rg.ops.get("pow")
<op power (elementwise)>
>>> rg.ops.families()[:3]
['comparison', 'composite', 'contraction']

An op of your own is one block, as in retrograde's own files::

    @rg.ops.elementwise(samples=rg.ops.uniform(-3, 3))
    def cube(x, /):
        \"""Third power of `x`.\"""
        return x * x * x

    cube.defvjp(lambda g, x: g * 3 * x * x)
"""

from ..core.registry import aliases, families, get, names, unregister
from . import (
    activation,
    arithmetic,
    classification,
    comparisons,
    contractions,
    conversions,
    convolution,
    dropout,
    exponential,
    gathering,
    hyperbolic,
    joins,
    linear,
    matrices,
    movements,
    pooling,
    products,
    random,
    reductions,
    repetition,
    roots,
    rounding,
    searches,
    selections,
    sorting,
    special,
    spreads,
    trigonometric,
)
from ._families import (
    comparison,
    composite,
    contraction,
    conversion,
    creation,
    elementwise,
    indexing,
    joining,
    loss,
    movement,
    reduction,
    search,
)
from ._samples import call, distinct, of, uniform

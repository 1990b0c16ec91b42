"""The registry of ops: look one up, list them, or add one.

>>> rg.ops.get("pow")
<op power (elementwise)>
>>> rg.ops.families()[:3]
['collective', 'comparison', 'composite']

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
    adaptive,
    arithmetic,
    attending,
    attention,
    bessel,
    bits,
    borders,
    cached_attention,
    classification,
    collectives,
    comparisons,
    complexes,
    contractions,
    conversions,
    convolution,
    convolutions,
    counts,
    determinants,
    distances,
    dropout,
    eigen,
    elimination,
    embeddings,
    entropies,
    error_function,
    exponential,
    factorizations,
    fourier,
    gamma,
    gammas,
    gathering,
    grids,
    hyperbolic,
    incomplete,
    inverses,
    joins,
    linear,
    log_gamma,
    matrices,
    movements,
    normal,
    normalization,
    norms,
    patches,
    piecewise,
    pooling,
    products,
    quantized,
    random,
    rankings,
    recurrent,
    reductions,
    repetition,
    resampling,
    rounding,
    running,
    scattering,
    searches,
    segments,
    selections,
    sorting,
    spreads,
    sylvester,
    tensors,
    triangular,
    trigonometric,
    windows,
)
from ._families import (
    collective,
    comparison,
    composite,
    contraction,
    conversion,
    creation,
    elementwise,
    indexing,
    joining,
    loss,
    matrix,
    movement,
    reduction,
    sampling,
    search,
    transform,
)
from ._samples import call, complex_uniform, distinct, of, uniform, well_conditioned

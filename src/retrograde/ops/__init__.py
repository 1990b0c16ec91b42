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
from . import collectives, complexes, fourier
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
from .axes import (
    finding,
    products,
    rankings,
    reductions,
    running,
    searches,
    sorting,
    spreads,
)
from .elementary import (
    arithmetic,
    bits,
    comparisons,
    conversions,
    exponential,
    hyperbolic,
    rounding,
    trigonometric,
)
from .images import (
    adaptive,
    convolution,
    convolutions,
    pooling,
    resampling,
    windows,
)
from .linalg import (
    contractions,
    determinants,
    distances,
    eigen,
    elimination,
    factorizations,
    integer_products,
    inverses,
    matrices,
    norms,
    sylvester,
    tensors,
    triangular,
)
from .manipulation import (
    borders,
    gathering,
    grids,
    joins,
    movements,
    patches,
    repetition,
    scattering,
    segments,
    selections,
)
from .networks import (
    activation,
    attending,
    attention,
    cached_attention,
    classification,
    embeddings,
    linear,
    normalization,
    piecewise,
    quantized,
    recurrent,
)
from .random import (
    counts,
    draws,
    dropout,
    gammas,
)
from .special import (
    bessel,
    entropies,
    error_function,
    gamma,
    incomplete,
    log_gamma,
    normal,
)

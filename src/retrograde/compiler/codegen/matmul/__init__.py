"""Matrix products as generated machine code: register tiles, packed panels, cache blocks, fused hooks.

`choose` turns a `Problem` (sizes and strides) into a `Plan`: a `Spec`, from which `generate` emits one entry function, and
the numbers that the entry reads from its descriptor. The entry computes one chunk of C:

    void entry(int64 chunk, int64 *descriptor, A, B, C, void **extra, void *workspace)

`Plan.descriptor(count)` cuts the work in `count` chunks, which may run at the same time, each with a workspace of
`Plan.workspace_bytes` aligned to 64. Sums over k are never split, so C has the same bits for any count. `MatmulKernel`
does all this for NumPy arrays.
"""

from ...problem import Problem, problem_of
from .choose import Plan, choose, choose_panels
from .entries import write_product, write_rows
from .kernel import BoundProduct, MatmulKernel, generate
from .spec import Hooks, Site, Spec

__all__ = [
    "BoundProduct",
    "Hooks",
    "MatmulKernel",
    "Plan",
    "Problem",
    "Site",
    "Spec",
    "choose",
    "choose_panels",
    "generate",
    "problem_of",
    "write_product",
    "write_rows",
]

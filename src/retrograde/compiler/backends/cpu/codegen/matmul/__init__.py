"""Matrix products as generated machine code: register tiles, packed panels, cache blocks.

`choose` turns a `Problem` (sizes and strides) into a `Plan`: the specs from which `write` generates code, and the numbers that the
code reads from a descriptor. Loops around tiles are one piece of code for all products, and tiles and packing are shared by all
products that have some alike. `Plan.descriptor(count)` cuts the work in `count` chunks, which may run at the same time, each with
a workspace of `Plan.workspace_bytes` aligned to 64. Sums over k are never split, so C has the same bits for any count.
"""

from .choose import choose, choose_blocks, choose_integer_pairs, choose_pairs, choose_panels
from .entries import write
from .integer_pairs import Widening, write_widening
from .plan import Plan
from .spec import Blocks

__all__ = ["Blocks", "Plan", "Widening", "choose", "choose_blocks", "choose_integer_pairs", "choose_pairs", "choose_panels",
           "write", "write_widening"]

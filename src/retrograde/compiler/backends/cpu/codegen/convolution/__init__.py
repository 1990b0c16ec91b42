"""Convolutions as generated machine code: implicit matrix products over images that are laid out with their borders.

`forward_of` and `backward_of` turn a geometry into a `Correlation`, which says which numbers meet; `layout_of` lays it out in
scratch memory and cuts it in tiles; `write_packing` and `write_correlation` write the code. The gradient of the weight is a
product of its own: `weighing_of` plans it, `write_weighing` and `write_total` write it.
"""

from .correlate import Correlating, write_correlation, write_correlation_rows, write_packing
from .layout import Layout, layout_of
from .shape import Correlation, backward_of, forward_of
from .weight import Weighing, weighing_of, write_total, write_weighing

__all__ = [
    "Correlating",
    "Correlation",
    "Layout",
    "Weighing",
    "backward_of",
    "forward_of",
    "layout_of",
    "weighing_of",
    "write_correlation",
    "write_correlation_rows",
    "write_packing",
    "write_total",
    "write_weighing",
]

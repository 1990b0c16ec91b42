"""Convolutions of kernels of 3x3 with fewer multiplications, as generated machine code.

Tiles of m x m results are made of (m + 2)^2 products in place of 9 m^2: kernel and image are transformed, are multiplied place
by place, and their sums over channels are transformed back. S. Winograd, Arithmetic Complexity of Computations, SIAM 1980; A.
Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, CVPR 2016.

`matrices` makes the transforms; `correlating_of` and `weighing_of` cut the work in blocks of tiles; `write_kernels` and
`write_images` write the code of the result, and of the gradient of the image; `write_sums` and `write_total` that of the
gradient of the kernel.
"""

from .images import write_images, write_kernels
from .matrices import matrices
from .plan import Correlating, Weighing, correlating_of, weighing_of
from .weight import write_sums, write_total

__all__ = [
    "Correlating",
    "Weighing",
    "correlating_of",
    "matrices",
    "weighing_of",
    "write_images",
    "write_kernels",
    "write_sums",
    "write_total",
]

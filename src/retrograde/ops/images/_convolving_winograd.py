"""Which convolutions are computed by Winograd's tiles: where fewer products pay for the transforms; see `precision`."""

from math import ceil, prod

from ...precision import winograd_tiles

#: The most channels of a vector, and what share of the multiply-adds that could be made an ordinary convolution makes.
_LANES, _SHARE = 16, 0.85
#: Multiply-adds that take as long as to transform one number of a tile, of what is read or made, and one of a kernel: forward
#: and for the gradient of the image; for the gradient of the kernel.
_COSTS = {"conv2d": (9, 44), "conv2d_input": (9, 44), "conv2d_weight": (12, 70)}


def tile_of(name, geometry):
    """How many results along each side the tiles have that a convolution, or one of its gradients, is best computed by; 0 if it
    is best computed as it stands.
    """
    if (geometry.kernel, geometry.stride, geometry.dilation) != ((3, 3), (1, 1), (1, 1)):
        return 0
    if not (geometry.batch and geometry.outputs and geometry.depth):
        return 0
    least = 9 * geometry.batch * prod(_made(name, geometry)) / _SHARE
    best = 0
    for results in winograd_tiles():
        work = _work(name, geometry, results)
        if work < least:
            best, least = results, work
    return best


def _made(name, geometry):
    """Height and width of what tiles make up."""
    return geometry.image if name == "conv2d_input" else geometry.result


def _work(name, geometry, results):
    """Multiply-adds for each pair of channels."""
    rows, columns = (ceil(n / results) for n in _made(name, geometry))
    tiles, places = geometry.batch * rows * columns, (results + 2) ** 2
    inputs, outputs = geometry.channels // geometry.groups, geometry.outputs // geometry.groups
    number, weight = _COSTS[name]
    # Channels are transformed in whole vectors.
    transformed = sum([ceil(n / _LANES) * _LANES for n in (inputs, outputs)]) / (inputs * outputs)
    return places * (tiles + number * tiles * transformed + weight)

"""Convolutions as simpler ones, which the compiler makes of them: a kernel as high, or as wide, as the image goes along one line.

The rows (or columns) that it covers at once are channels then. Code for images would compute a result at each place of a row,
and leave out all but one. Each function takes the op that it stands for, and its arguments; NotImplemented leaves them to it.
"""

from ..manipulation.movements import permute_dims, reshape
from ._convolving_as_products import as_product, as_product_to_input, as_product_to_weight
from ._convolving_exchanged import exchanged, exchanged_to_input, exchanged_to_weight

#: Height and width exchanged.
_OTHER_WAY = (0, 1, 3, 2)


def simpler(conv2d, conv2d_weight, x, weight, bias, stride, padding, dilation, groups):
    """`conv2d` as a matrix product, along a line, or along its kernel."""
    z = as_product(x, weight, bias, stride, padding, dilation, groups)
    if z is not NotImplemented:
        return z
    side = _covered(x.shape, weight.shape, padding)
    if side is None:
        return exchanged(conv2d_weight, x, weight, bias, stride, padding, dilation, groups)
    z = conv2d(_lined(x, side), _lined(weight, side), bias, *_along(side, stride, padding, dilation), groups)
    return _unlined(z, (*z.shape[:2], *((1, z.shape[3]) if side == 0 else (z.shape[3], 1))), side)


def simpler_to_input(conv2d_input, x, weight, shape, stride, padding, dilation, groups):
    """`conv2d_input` as a matrix product, along a line, or with kernel and result exchanged."""
    z = as_product_to_input(x, weight, shape, stride, padding, dilation, groups)
    if z is not NotImplemented:
        return z
    side = _covered(shape, weight.shape, padding)
    if side is None:
        return exchanged_to_input(conv2d_input, x, weight, shape, stride, padding, dilation, groups)
    line = _line(shape, side)
    z = conv2d_input(_lined(x, side), _lined(weight, side), line, *_along(side, stride, padding, dilation), groups)
    return _unlined(z, shape, side)


def simpler_to_weight(conv2d_weight, conv2d, x, y, shape, stride, padding, dilation, groups):
    """`conv2d_weight` as a matrix product, along a line, or as a convolution."""
    z = as_product_to_weight(x, y, shape, stride, padding, dilation, groups)
    if z is not NotImplemented:
        return z
    side = _covered(x.shape, shape, padding)
    if side is None:
        return exchanged_to_weight(conv2d, x, y, shape, stride, padding, dilation, groups)
    line = _line(shape, side)
    z = conv2d_weight(_lined(x, side), _lined(y, side), line, *_along(side, stride, padding, dilation), groups)
    return _unlined(z, shape, side)


def _covered(image, kernel, padding):
    """0 or 1 for the axis along which the kernel covers an image of several rows, without a border; None if there is none."""
    for side in (0, 1):
        border = padding[side] if isinstance(padding, (tuple, list)) else padding
        is_bare = border in (0, "valid") or (border == "same" and kernel[2 + side] == 1)
        if is_bare and image[2] > 1 and image[2 + side] == kernel[2 + side]:
            return side
    return None


def _oriented(shape, side):
    """A shape with the covered axis before the other."""
    return tuple(shape) if side == 0 else (shape[0], shape[1], shape[3], shape[2])


def _line(shape, side):
    batch, channels, covered, length = _oriented(shape, side)
    return batch, channels * covered, 1, length


def _lined(x, side):
    """`x` with the covered axis in its channels."""
    return reshape(x if side == 0 else permute_dims(x, _OTHER_WAY), _line(x.shape, side))


def _unlined(z, shape, side):
    """`z` in `shape`: the covered axis out of its channels again."""
    z = reshape(z, _oriented(shape, side))
    return z if side == 0 else permute_dims(z, _OTHER_WAY)


def _along(side, stride, padding, dilation):
    """Stride, padding and dilation of a line."""
    stride, dilation = [(1, value[1 - side] if isinstance(value, (tuple, list)) else value) for value in (stride, dilation)]
    if not isinstance(padding, str):
        padding = (0, padding[1 - side] if isinstance(padding, (tuple, list)) else padding)
    return stride, padding, dilation

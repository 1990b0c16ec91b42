"""Products of matrices, convolutions and pooling."""

import numpy as np

from ...errors import UnsupportedOnnxError
from ..building import emits, fixed
from ..dimensions import Dimension
from ..nodes import RESULT
from .shapes import reshaped


@emits("matmul")
def _matmul(e, node, x, y):
    return e.add("MatMul", [e(x, node.dtype), e(y, node.dtype)])


@emits("linear")
def _linear(e, node, x, weight, bias=None):
    if len(x.shape) == 2 and node.dtype.kind == "f":
        inputs = [e(x, node.dtype), e(weight, node.dtype), *([] if bias is None else [e(bias, node.dtype)])]
        return e.add("Gemm", inputs, transB=1)
    found = e.add("MatMul", [e(x, node.dtype), e.add("Transpose", [e(weight, node.dtype)], perm=[1, 0])])
    return found if bias is None else e.add("Add", [found, e(bias, node.dtype)])


@emits("contract")
def _contract(e, node, operands, subscripts):
    if "..." in subscripts:
        raise UnsupportedOnnxError("a product with an ellipsis in its subscripts is not exported, since runtimes differ in what it "
                                   "stands for; name all axes")
    return e.add("Einsum", [e(x, node.dtype) for x in operands], equation=subscripts)


def _sizes(value, count, what):
    values = list(value) if isinstance(value, (tuple, list)) else [value] * count
    return [int(fixed(v, what)) for v in (values if len(values) == count else values * count)]


def _window(kernel, stride, padding, dilation):
    count = len(kernel)
    dilations = _sizes(dilation, count, "a dilation")
    if padding == "same":
        spans = [(k - 1) * d for k, d in zip(kernel, dilations, strict=True)]
        pads = [*[n // 2 for n in spans], *[n - n // 2 for n in spans]]
    else:
        pads = _sizes(0 if padding == "valid" else padding, count, "a border") * 2
    return {"kernel_shape": kernel, "strides": _sizes(stride, count, "a stride"), "pads": pads, "dilations": dilations}


@emits("conv2d", "conv3d")
def _conv(e, node, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    inputs = [e(x, node.dtype), e(weight, node.dtype), *([] if bias is None else [e(bias, node.dtype)])]
    count = len(weight.shape) - 2
    inputs[0] = _batched(e, x, node.dtype, count)
    found = e.add("Conv", inputs, group=int(groups), **_window(_kernel(weight), stride, padding, dilation))
    return found if len(x.shape) == count + 2 else reshaped(e, found, node.shape)


def _batched(e, x, dtype, count):
    """The name of `x` with an axis for the batch."""
    return e(x, dtype) if len(x.shape) == count + 2 else e.add("Unsqueeze", [e(x, dtype), e.constant(np.zeros(1, np.int64))])


def _kernel(weight):
    return [int(fixed(n, "the size of a kernel")) for n in weight.shape[2:]]


@emits("conv2d_input")
def _conv_input(e, node, x, weight, shape, stride=1, padding=0, dilation=1, groups=1):
    """The transposed convolution, whose size `shape` says: what is missing is added behind."""
    if len(x.shape) != 4 or isinstance(padding, str):
        raise UnsupportedOnnxError("a transposed convolution is exported for batches of images and a border in numbers only")
    window = _window(_kernel(weight), stride, padding, dilation)
    extra = []
    for i in range(2):
        size, wanted = [fixed(n, "the size of an image") for n in (x.shape[2 + i], node.shape[2 + i])]
        k, s, d = window["kernel_shape"][i], window["strides"][i], window["dilations"][i]
        extra.append(wanted - ((size - 1) * s - 2 * window["pads"][i] + (k - 1) * d + 1))
    return e.add("ConvTranspose", [e(x, node.dtype), e(weight, node.dtype)], group=int(groups), output_padding=extra, **window)


@emits("max_pool2d_with_taps")
def _max_pool(e, node, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    _check_last_window(ceil_mode)
    kernel = _sizes(kernel_size, 2, "a window")
    return _pooled(e, "MaxPool", x, _window(kernel, kernel if stride is None else stride, padding, dilation)), None


@emits("avg_pool2d")
def _average_pool(e, node, x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    _check_last_window(ceil_mode)
    kernel = _sizes(kernel_size, 2, "a window")
    window = _window(kernel, kernel if stride is None else stride, padding, 1)
    found = _pooled(e, "AveragePool", x, window, count_include_pad=int(count_include_pad or divisor_override is not None))
    if divisor_override is None:
        return found
    return e.add("Mul", [found, e(kernel[0] * kernel[1] / divisor_override, node.dtype)])


def _pooled(e, operator, x, window, **others):
    """Pooling over the last two axes; ONNX has two axes before them."""
    if len(x.shape) == 4:
        return e.add(operator, [e(x)], **window, **others)
    lead, sizes = x.shape[:-2], [fixed(n, "the size of an image") for n in x.shape[-2:]]
    found = e.add(operator, [reshaped(e, e(x), [1, 1, *sizes] if not lead else [1, _product(lead), *sizes])], **window, **others)
    after = [(n + 2 * p - (k - 1) * d - 1) // s + 1 for n, p, k, d, s in zip(
        sizes, window["pads"], window["kernel_shape"], window["dilations"], window["strides"], strict=False)]
    return reshaped(e, found, [*lead, *after])


def _product(sizes):
    """The product of sizes, of which one may be a Dimension; -1 for the runtime to find it."""
    return -1 if any(isinstance(n, Dimension) for n in sizes) else int(np.prod(sizes))


def _check_last_window(ceil_mode):
    if ceil_mode:
        raise UnsupportedOnnxError("pooling with ceil_mode is not exported, since runtimes differ in its last window; pad the "
                                   "input")


@emits(RESULT)
def _result(e, node, source, number):
    name = e.named(source)[number]
    if name is None:
        raise UnsupportedOnnxError(f"result {number} of {source.name} has no counterpart in ONNX here")
    return e.add("Identity", [name])


@emits("det")
def _det(e, node, x):
    return e.add("Det", [e(x, np.float32 if node.dtype == np.float32 else node.dtype)])

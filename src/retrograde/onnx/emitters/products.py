"""Products of matrices, convolutions and pooling."""

import numpy as np

from ...errors import UnsupportedOnnxError
from ..building import emits, fixed


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
    return e.add("Einsum", [e(x, node.dtype) for x in operands], equation=subscripts)


def _sizes(value, count, what):
    values = list(value) if isinstance(value, (tuple, list)) else [value] * count
    return [int(fixed(v, what)) for v in (values if len(values) == count else values * count)]


def _window(count, stride, padding, dilation):
    pads = _sizes(padding, count, "a border")
    return {"strides": _sizes(stride, count, "a stride"), "pads": [*pads, *pads],
            "dilations": _sizes(dilation, count, "a dilation")}


@emits("conv2d", "conv3d")
def _conv(e, node, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    inputs = [e(x, node.dtype), e(weight, node.dtype), *([] if bias is None else [e(bias, node.dtype)])]
    count = len(x.shape) - 2
    return e.add("Conv", inputs, group=int(groups), kernel_shape=[int(n) for n in weight.shape[2:]],
                 **_window(count, stride, padding, dilation))


@emits("conv_transpose2d", "conv_transpose3d")
def _conv_transpose(e, node, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    inputs = [e(x, node.dtype), e(weight, node.dtype), *([] if bias is None else [e(bias, node.dtype)])]
    count = len(x.shape) - 2
    return e.add("ConvTranspose", inputs, group=int(groups), kernel_shape=[int(n) for n in weight.shape[2:]],
                 output_padding=_sizes(output_padding, count, "a border"), **_window(count, stride, padding, dilation))


@emits("max_pool2d_with_taps")
def _max_pool(e, node, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    _check_last_window(ceil_mode)
    kernel = _sizes(kernel_size, 2, "a window")
    found = e.add("MaxPool", [e(x)], kernel_shape=kernel, **_window(2, kernel if stride is None else stride, padding, dilation))
    return found, None


@emits("avg_pool2d")
def _average_pool(e, node, x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    _check_last_window(ceil_mode)
    kernel = _sizes(kernel_size, 2, "a window")
    window = _window(2, kernel if stride is None else stride, padding, 1)
    del window["dilations"]
    found = e.add("AveragePool", [e(x)], kernel_shape=kernel,
                  count_include_pad=int(count_include_pad or divisor_override is not None), **window)
    if divisor_override is None:
        return found
    return e.add("Mul", [found, e(kernel[0] * kernel[1] / divisor_override, node.dtype)])


def _check_last_window(ceil_mode):
    if ceil_mode:
        raise UnsupportedOnnxError("pooling with ceil_mode is not exported, since runtimes differ in its last window; pad the "
                                   "input")


@emits("pick")
def _pick(e, node, source, number):
    name = e.names[source][number] if source in e.names else e.outer.names[source][number]
    if name is None:
        raise UnsupportedOnnxError(f"result {number} of {source.name} has no counterpart in ONNX here")
    return e.add("Identity", [name])


@emits("det")
def _det(e, node, x):
    return e.add("Det", [e(x, np.float32 if node.dtype == np.float32 else node.dtype)])

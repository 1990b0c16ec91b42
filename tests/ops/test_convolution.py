import tracemalloc

import numpy as np
import pytest
from torch_oracle import assert_as_torch

import retrograde as rg
from retrograde.errors import ArgumentError, ShapeError
from retrograde.ops.images import _convolving
from retrograde.ops.images.convolution import conv1d, conv2d, conv2d_input, conv2d_weight
from retrograde.testing.gradients import check_gradients

RNG = np.random.default_rng(0)
# Batch, channels, outputs, image, kernel; stride, padding, dilation, groups.
CASES = [
    ((2, 3, 4, (7, 6), (3, 2)), (1, 0, 1, 1)), ((2, 4, 6, (8, 7), (3, 3)), (2, 1, 1, 2)), ((1, 4, 4, (9, 9), (3, 3)), (1, 2, 2, 4)),
    ((3, 2, 2, (5, 5), (1, 1)), (1, 0, 1, 1)), ((2, 2, 4, (8, 9), (2, 3)), ((2, 3), (1, 0), (2, 1), 1)),
    ((2, 3, 2, (6, 6), (3, 3)), (1, "same", 1, 1)), ((2, 3, 2, (6, 6), (4, 2)), (1, "same", (2, 1), 1)),
    ((2, 3, 2, (6, 6), (3, 3)), (2, "valid", 1, 1)), ((5, 2, 3, (1, 6), (1, 3)), (1, (0, 1), 1, 1)),
    ((2, 2, 3, (5, 9), (2, 8)), (1, 0, 1, 1)),
]


def operands(sizes, groups, dtype=np.float64):
    batch, channels, outputs, image, kernel = sizes
    shapes = (batch, channels, *image), (outputs, channels // groups, *kernel), (outputs,)
    return [RNG.standard_normal(shape).astype(dtype) for shape in shapes]


def by_definition(x, weight, bias, stride, padding, dilation, groups):
    geometry = _convolving.Geometry.of(x.shape, weight.shape, stride, padding, dilation, groups)
    x, (sh, sw), (dh, dw) = np.pad(x, ((0, 0), (0, 0), *geometry.padding)), geometry.stride, geometry.dilation
    result = np.empty((len(x), len(weight), *geometry.result))
    depth, share = weight.shape[1], len(weight) // groups
    for n, o, i, j in np.ndindex(result.shape):
        part = x[n, o // share * depth : (o // share + 1) * depth, i * sh :: dh, j * sw :: dw]
        result[n, o, i, j] = (part[:, : weight.shape[2], : weight.shape[3]] * weight[o]).sum() + bias[o]
    return result


@pytest.mark.parametrize(("sizes", "options"), CASES)
def test_conv2d_is_its_definition(sizes, options):
    args = operands(sizes, options[3])
    np.testing.assert_allclose(conv2d(*args, *options), by_definition(*args, *options), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("sizes", "options"), CASES)
def test_gradients_match_finite_differences(sizes, options):
    check_gradients(lambda x, w, b: conv2d(x, w, b, *options), tuple(operands(sizes, options[3])), rtol=1e-5)


@pytest.mark.parametrize(("sizes", "options"), CASES)
@pytest.mark.filterwarnings("ignore:Using padding='same'")
def test_results_are_those_of_torch(sizes, options):
    torch = pytest.importorskip("torch")
    theirs = torch.nn.functional.conv2d
    assert_as_torch(lambda *a: conv2d(*a, *options), lambda *a: theirs(*a, *options), *operands(sizes, options[3]))


def test_conv1d_is_a_convolution_of_one_row():
    x, w, b = RNG.standard_normal((2, 3, 9)), RNG.standard_normal((4, 3, 3)), RNG.standard_normal(4)
    expected = by_definition(x[:, :, None], w[:, :, None], b, (1, 2), (0, 1), (1, 2), 1)[:, :, 0]
    np.testing.assert_allclose(conv1d(x, w, b, 2, 1, 2), expected, rtol=1e-10)
    check_gradients(lambda x, w, b: conv1d(x, w, b, padding="same"), (x, w, b), rtol=1e-5)


def test_a_batch_in_several_blocks_is_the_batch_in_one(monkeypatch):
    x, w, b = operands((7, 2, 3, (6, 5), (3, 2)), 1)
    y = RNG.standard_normal((7, 3, 4, 4))
    whole = conv2d(x, w, b), conv2d_input(y, w, x.shape), conv2d_weight(x, y, w.shape)
    monkeypatch.setattr(_convolving, "_WORKSPACE", 8000)
    parts = conv2d(x, w, b), conv2d_input(y, w, x.shape), conv2d_weight(x, y, w.shape)
    for a, c in zip(whole, parts, strict=True):
        np.testing.assert_allclose(a, c, rtol=1e-11)


def test_the_workspace_stays_small():
    x, w, b = operands((64, 8, 8, (32, 32), (3, 3)), 1, np.float32)
    conv2d(x[:2], w, b)
    tracemalloc.start()
    z = conv2d(x, w, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < z.nbytes + 3 * _convolving._WORKSPACE  # all columns at once would take 20 MB


def test_dtypes_layouts_and_empty_batches():
    x, w, b = operands((2, 2, 3, (5, 5), (3, 3)), 1)
    for dtype, tolerance in ((rg.float32, 1e-5), (rg.float16, 1e-2), (rg.bfloat16, 1e-1)):
        t = [rg.tensor(a.astype(dtype), requires_grad=True) for a in (x, w, b)]
        z = conv2d(*t)
        z.backward(np.ones(z.shape))
        assert z.dtype == dtype
        assert all(a.grad.dtype == dtype for a in t)
        np.testing.assert_allclose(z.data.astype(float), conv2d(x, w, b), rtol=tolerance, atol=tolerance)
    swapped = np.ascontiguousarray(x.transpose(0, 3, 2, 1)).transpose(0, 3, 2, 1)[:, ::-1]
    np.testing.assert_allclose(conv2d(swapped, w, b), conv2d(swapped.copy(), w, b), rtol=1e-12)
    empty, kernel = rg.tensor(x[:0], requires_grad=True), rg.tensor(w, requires_grad=True)
    conv2d(empty, kernel).sum().backward()
    assert empty.grad.shape == (0, 2, 5, 5)
    assert not kernel.grad.data.any()


@pytest.mark.parametrize(("error", "kwargs"), [
    (ShapeError, {"groups": 2}), (ShapeError, {"dilation": 5}), (ArgumentError, {"padding": "full"}),
    (ArgumentError, {"stride": 0}),
    (ArgumentError, {"padding": "same", "stride": 2}), (ArgumentError, {"padding": -1})])
def test_what_does_not_fit_is_refused(error, kwargs):
    x, w, _ = operands((1, 3, 2, (5, 5), (3, 3)), 1)
    with pytest.raises(error):
        conv2d(rg.tensor(x), w, **kwargs)

"""Each op that is written in ONNX computes there what it computes here, with onnxruntime as the judge, on the samples of the registry."""

import numpy as np
import pytest

import retrograde as rg
from sweeping import cases
from tiers import tiered

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from retrograde.onnx.building import EMITTERS
from retrograde.onnx.exporting import model_of

#: Ops that sample nothing or are never in a graph by themselves.
_FAMILIES = ("creation", "sampling")


def written():
    """(name, case) of each call of an op that has a rule for ONNX."""
    for name in rg.ops.names():
        op = rg.ops.get(name)
        if name in EMITTERS and op.family not in _FAMILIES:
            yield from [(f"{name}-{i}", case) for i, case in enumerate(cases(op)) if case.operands(case.drawn(np.float32)[0])]


def session(model):
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    return runtime.InferenceSession(model.SerializeToString(), options)


@pytest.mark.parametrize("case", list(tiered(written(), lambda case: case.op.name, 5)))
def test_an_op_gives_in_onnxruntime_what_it_gives_here(case):
    args, kwargs = case.drawn(np.float32)
    operands = case.operands(args)
    function = lambda *tensors: case.op.call(*case.rebuilt(args, list(tensors)), **kwargs)
    tensors = tuple([rg.asarray(x) for x in operands])
    expected = [x.numpy() for x in rg.tree.leaves(function(*tensors))]
    try:
        model = model_of(function, tensors, None)
    except rg.errors.UnsupportedOnnxError as error:
        pytest.skip(str(error))
    runner = session(model)
    found = runner.run(None, {i.name: np.asarray(x) for i, x in zip(runner.get_inputs(), operands, strict=True)})
    for got, wanted in zip(found, expected, strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("function", "x"), [
    (lambda x: x & 6, np.arange(8)), (lambda x: x | 6, np.arange(8)), (lambda x: x ^ 6, np.arange(8)), (lambda x: ~x, np.arange(8)),
    (lambda x: x // 3, np.arange(-7, 7)), (lambda x: x % 3, np.arange(-7, 7)), (lambda x: x % -2.5, np.arange(-7, 7) / 2),
    (lambda x: x / 2, np.arange(8)), (lambda x: rg.max(x > 3), np.arange(8)), (lambda x: rg.all(x > 3), np.arange(8)),
    (lambda x: x[1:, ..., None], np.ones((3, 4))), (lambda x: x[-1], np.arange(12.0).reshape(3, 4)), (lambda x: x[:, ::-2], np.arange(12.0).reshape(3, 4)),
    (lambda x: x[:, [2, 0]], np.arange(12.0).reshape(3, 4)), (lambda x: x[[1, 2], [0, 3]], np.arange(12.0).reshape(3, 4)),
    (lambda x: x[:, [1, 2], [0, 3]], np.arange(24.0).reshape(2, 3, 4)), (lambda x: rg.topk(x, 2)[0], np.array([3.0, 1, 2])),
    (lambda x: rg.floor(x) + rg.round(x), np.arange(8)), (lambda x: rg.isnan(x) | rg.isinf(x), np.arange(8)), (lambda x: ~(x > 3), np.arange(8)),
    (lambda x: x[0, :, [1, 2]], np.arange(24.0).reshape(2, 3, 4)), (lambda x: x[:, 1, [1, 2]], np.arange(24.0).reshape(2, 3, 4)),
    (lambda x: rg.where(x > 3, x, -x), np.arange(8)), (lambda x: rg.sum(x > 3), np.arange(8)), (lambda x: rg.mean(x), np.arange(8)),
    (lambda x: rg.maximum(x > 3, x < 2), np.arange(8)), (lambda x: (x > 3) == (x < 2), np.arange(8)), (lambda x: x.astype(rg.bool_), np.arange(3)),
    (lambda x: rg.cumsum(x, 1), np.ones((2, 3))), (lambda x: rg.interpolate(x, scale_factor=2, mode="bilinear"), np.arange(16.0).reshape(1, 1, 4, 4)),
])
def test_uses_that_the_registry_has_no_sample_of(function, x):
    x = x.astype(np.float32) if x.dtype.kind == "f" else x
    expected = function(rg.asarray(x)).numpy()
    runner = session(model_of(function, (rg.asarray(x),), None))
    (found,) = runner.run(None, {runner.get_inputs()[0].name: x})
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-5)

"""Checking: a model that was written, by the rules of its format, and run by onnxruntime beside the function that it is of."""

import numpy as np

from .. import tree
from ..core.mode import no_grad
from ..errors import OnnxError
from ..extras import optional
from ..tensor.tensor import Tensor
from .capturing import is_array
from .library import onnx

#: How far results may lie apart, relative to the greatest of them, by the bytes of their floats.
_TOLERANCES = {2: 2e-2, 4: 1e-4, 8: 1e-7}


def check_form(model):
    """Raise an OnnxError unless a model, or the one in the file of a path, is as its format says."""
    try:
        onnx().checker.check_model(model, full_check=isinstance(model, str) or model.ByteSize() < 1 << 30)
    except (onnx().checker.ValidationError, onnx().shape_inference.InferenceError) as error:
        raise OnnxError(f"the model that was written is not valid, which is a fault of ours: {error}") from error


def check(source, function, arguments, axes):
    """Raise an OnnxError unless onnxruntime gives what `function` gives, for `arguments` and for other dynamic sizes.

    source  the model, as bytes or as the path of its file
    axes  {(number of an input, axis): name of its size}, of those that may change
    """
    runtime = optional("onnxruntime", "test")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    session = runtime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    for more in (0, 1) if axes else (0,):
        leaves, build = tree.flatten(arguments)
        places = [i for i, leaf in enumerate(leaves) if is_array(leaf)]
        for number, place in enumerate(places):
            leaves[place] = _longer(leaves[place], [axis for i, axis in axes if i == number], more)
        with no_grad():
            expected = [np.asarray(x) for x in tree.leaves(function(*build(leaves)))]
        given = {name: np.asarray(leaves[place]) for name, place in zip(names, places, strict=True)}
        for found, wanted in zip(session.run(None, given), expected, strict=True):
            _compare(found, wanted, {name: x.shape for name, x in given.items()})


def _longer(leaf, axes, more):
    """An argument with the first elements of some axes once more at the end."""
    array = np.asarray(leaf)
    for axis in axes:
        array = np.take(array, np.arange(array.shape[axis] + more) % max(1, array.shape[axis]), axis)
    return Tensor(array) if isinstance(leaf, Tensor) else array


def _compare(found, wanted, shapes):
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        raise OnnxError(f"onnxruntime gives {found.dtype}{list(found.shape)} and the function {wanted.dtype}{list(wanted.shape)}, "
                        f"for inputs of {shapes}; this is a fault of ours")
    if wanted.dtype.kind not in "fc":
        is_equal = np.array_equal(found, wanted)
    else:
        scale = float(np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted))) + 1
        is_equal = np.allclose(found, wanted, 0, _TOLERANCES.get(wanted.dtype.itemsize, 1e-4) * scale, equal_nan=True)
    if not is_equal:
        raise OnnxError(f"onnxruntime gives other numbers than the function, for inputs of {shapes}; this is a fault of ours, or "
                        "the function does not always compute the same")

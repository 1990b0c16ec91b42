"""OnnxModel, a model in ONNX as a module: its floats are parameters, and its operators are ops of ours."""

import json
from typing import Any

import numpy as np

from ..core.value import Value
from ..errors import OnnxError, RetrogradeError, UnsupportedOnnxError
from ..nn.module import Module
from ..nn.parameter import Parameter
from ..tensor.tensor import Tensor
from .compiling import Compiler
from .library import BUFFERS
from .reading import read_model, versions_of
from .values import is_computed, is_floating

#: Inputs that are statistics, gathered by a training rather than learned by it: (operator, position).
_STATISTICS = frozenset([("BatchNormalization", 3), ("BatchNormalization", 4)])


class OnnxModel(Module):
    """A model that was read from ONNX; called with its inputs, in order or by name.

    Floats among its initializers are parameters, under their names, whose dots lead to modules inside; statistics of batch
    normalization are buffers; all else is constant. It returns the output, a tuple of several.
    """

    def __init__(self, graph, learned, statistics):
        super().__init__()
        self._graph, self._homes = graph, {}
        for name, array in learned.items():
            statistic = name in statistics
            # What was read shows memory of the file, which nobody may write to.
            value = Tensor(array.copy()) if statistic else Parameter(array.copy())
            self._homes[name] = _kept(self, name, value, statistic)

    @property
    def input_names(self):
        """The names of the inputs that it must or may be given, in order."""
        return tuple([name for name in self._graph.inputs if name not in self._homes])

    @property
    def output_names(self):
        """The names of the results, in order."""
        return self._graph.outputs

    def forward(self, *values, **named):
        names = self.input_names
        if len(values) > len(names):
            raise OnnxError(f"the model takes {len(names)} inputs, {', '.join(names)}, got {len(values)}")
        given = {**dict(zip(names, values, strict=False)), **named}
        for name in given:
            if name not in names:
                raise OnnxError(f"the model has no input {name!r}; it takes {', '.join(names)}")
        missing = [name for name in names if name not in given and name not in self._graph.constants]
        if missing:
            raise OnnxError(f"the model needs the input {missing[0]!r}; it takes {', '.join(names)}")
        values = {name: _input(value) for name, value in given.items()}
        values.update({name: getattr(owner, attribute) for name, (owner, attribute) in self._homes.items()})
        found = [_output(value) for value in self._graph.run(values, None, self.training)]
        return found[0] if len(found) == 1 else tuple(found)

    def extra_repr(self):
        """What is shown between the parentheses."""
        return f"{', '.join(self.input_names)} -> {', '.join(self.output_names)}; {len(self._graph.steps)} nodes"


def load(source, /, trainable=True):
    """The model in an ONNX file at path `source` (or of bytes, or of an onnx.ModelProto) as a module that can be trained on.

    trainable  whether the floats that it holds are parameters, rather than constants

    It computes with ops of ours, so that it has derivatives, is compiled by `rg.jit`, and exported again. Raises an OnnxError that
    says what is wrong with a damaged file, and an UnsupportedOnnxError that names all operators without a counterpart, before
    anything is computed. Weights in other files are read from the folder of the model, and below it.

    >>> rg.onnx.load("missing.onnx")
    Traceback (most recent call last):
    retrograde.errors.StorageError: missing.onnx cannot be read: No such file or directory
    """
    proto, folder = read_model(source)
    compiler = Compiler(proto, folder)
    try:
        graph = compiler.graph(proto.graph, versions_of(proto.opset_import, "the model"))
    except RetrogradeError:
        raise
    # What a damaged file holds in the place of what belongs there, no list of checks foresees.
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, RecursionError) as error:
        raise OnnxError(f"the model is damaged: {type(error).__name__}: {error}") from error
    if compiler.missing:
        listed = "; ".join([f"{operator}, of {label}" for operator, label in list(compiler.missing.items())[:10]])
        raise UnsupportedOnnxError(f"the model has operators without a counterpart here: {listed}")
    places: dict[str, list] = {}
    for step in graph.steps:
        for i, read in enumerate(step.inputs):
            places.setdefault(read, []).append((step, i))
    learned = {name: array for name, array in graph.constants.items() if trainable and _is_learned(array, places.get(name, ()))}
    for name in learned:
        del graph.constants[name]
    graph.inputs = tuple([name for name in graph.inputs if name not in learned])
    told = _buffers(proto)
    return OnnxModel(graph, learned, {name for name in learned if name in told or _is_statistic(places.get(name, ()))})


def _buffers(proto):
    """The initializers that a model which was exported here says are no parameters."""
    text = next((entry.value for entry in proto.metadata_props if entry.key == BUFFERS), "[]")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else ()


def _is_learned(array, places):
    """Whether an initializer is a parameter: a float that some step computes with, rather than reads as a number.

    places  (step, position among its inputs) of those that read it
    """
    if not is_computed(array.dtype) or not is_floating(array):
        return False
    computed = [1 for step, i in places if step.rule.numbers is not None and i not in step.rule.numbers]
    return len(computed) > 0 or not places


def _is_statistic(places):
    return len(places) > 0 and {(step.operator, i) for step, i in places} <= _STATISTICS


def _kept(module, name, value, is_buffer) -> Any:
    """Let `value` be at the path `name` in a module; (the module inside that has it, the attribute)."""
    *path, last = name.split(".") if all(name.split(".")) else [name.replace(".", "_")]
    for part in path:
        inner = module.__dict__.get(part)
        if inner is None and not hasattr(module, part):
            inner = Module()
            module.add_module(part, inner)
        if not isinstance(inner, Module):
            last, path = name.replace(".", "_"), []
            break
        module = inner
    while hasattr(module, last):
        last += "_"
    (module.register_buffer if is_buffer else module.register_parameter)(last, value)
    return module, last


def _input(value):
    """An input as rules take it: arrays of numbers as tensors; lists, and None for an optional value, as they are."""
    if isinstance(value, (list, tuple)):
        return [_input(v) for v in value]
    if value is None or isinstance(value, Value):
        return value
    array = np.asarray(value)
    return Tensor(array) if is_computed(array.dtype) else array


def _output(value):
    """A result as the caller has it: tensors, lists of them, arrays of what tensors do not hold."""
    if isinstance(value, list):
        return [_output(v) for v in value]
    if isinstance(value, np.ndarray) and is_computed(value.dtype):
        return Tensor(value)
    return value

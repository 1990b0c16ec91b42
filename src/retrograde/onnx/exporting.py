"""Export: a module or a function, traced and written as a model in ONNX, and checked by running it."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .. import tree
from ..atomic import writing
from ..core.value import Value
from ..errors import ArgumentError, UnsupportedOnnxError
from ..io.bounded import refused
from ..nn.module import Module
from .building import EMITTERS, Builder
from .capturing import captured, is_array
from .checking import check as compare
from .checking import check_form
from .dimensions import Dimension, Fit, merged, points_for
from .emitters.loops import ordered
from .external import fill, is_large
from .external import write as write_apart
from .layers import find_layers
from .library import BUFFERS, element_type, onnx
from .nodes import Lowering

#: The oldest and the newest version of ONNX's operators that can be written; what is written means the same in all of them.
OLDEST, NEWEST = 20, 28


def export(function, arguments, path, /, *, dynamic="batch", input_names=None, output_names=None, opset=None, check=False,
           external_data: Any = None):
    """Write a module, or a function, jitted or not, as a model in ONNX to the file at `path`.

    arguments     a tuple of what it is called with, or one array: shapes and dtypes count, and the first axis of each array is one
                  whose size may change, the batch. Arguments that are no arrays are constants of the model
    dynamic       the name of the size of the first axis of all arrays; or {name of an input: {axis: name of its size}}; None: all
                  sizes are fixed
    input_names   names of the arrays among the arguments, by default those of the function's parameters
    output_names  names of the results, by default "output", or "output_0" and so on

    opset         the version of ONNX's operators, from 20 on, by default the newest that the onnx package knows
    check         whether onnxruntime runs the model beside the function, for the arguments and for other sizes of what may change
    external_data whether weights lie in a file of their own beside the model, whose name begins with the model's; None: where the
                  model would be larger than the 2 GB that its format can hold

    A module is exported in `eval()` mode, with its parameters by their names in `state_dict`. Ops without an operator of the same
    meaning are written as what they are made of; an UnsupportedOnnxError names one that has no counterpart. Sizes that depend on a
    dynamic one are computed by the model; a function that does something else for another size is refused.

    >>> model = rg.nn.Sequential(rg.nn.Linear(3, 4), rg.nn.ReLU())
    >>> rg.onnx.export(model, rg.zeros(2, 3), "model.onnx")  # doctest: +SKIP
    """
    arguments = arguments if isinstance(arguments, tuple) else (arguments,)
    modes = _in_eval(function)
    try:
        model, weights = _model(function, arguments, dynamic, input_names, output_names, opset)
        leaves = [leaf for leaf in tree.leaves(arguments) if is_array(leaf)]
        axes = _dynamic_axes(dynamic, [i.name for i in model.graph.input], leaves)
        compared = (lambda source: compare(source, function, arguments, axes)) if check else lambda source: None
        try:
            _write(Path(path), model, weights, compared, is_large(model, weights) if external_data is None else external_data)
        except OSError as error:
            raise refused(os.fspath(path), "written", error) from error
    finally:
        for module, mode in modes:
            module.training = mode


def _write(path, model, weights, compared, is_apart):
    """Write a model and its weights to one file, or to two; `compared(source)` raises if it does not compute what it should."""
    if is_apart:
        write_apart(path, model, weights, lambda written: (check_form(written), compared(written)))
        return
    if is_large(model, weights):
        raise UnsupportedOnnxError("the model is larger than 2 GB, which its format cannot hold; leave out external_data=False")
    fill(model, weights)
    check_form(model)
    content = model.SerializeToString()
    compared(content)
    with writing(path) as part:
        part.write_bytes(content)


def model_of(function, arguments, dynamic="batch", input_names=None, output_names=None, opset=None) -> Any:
    """The onnx.ModelProto of a function, or of a module in the mode that it is in."""
    model, weights = _model(function, arguments, dynamic, input_names, output_names, opset)
    fill(model, weights)
    check_form(model)
    return model


def _model(function, arguments, dynamic, input_names, output_names, opset):
    """(the onnx.ModelProto of a function, whose weights have no numbers yet; these as arrays by name)."""
    version = _version(opset)
    leaves = [leaf for leaf in tree.leaves(arguments) if is_array(leaf)]
    names = _input_names(function, arguments, input_names, len(leaves))
    axes = _dynamic_axes(dynamic, names, leaves)
    sizes = {}
    for (i, axis), name in axes.items():
        sizes.setdefault(name, leaves[i].shape[axis])
    points = points_for(list(sizes), sizes)
    traces = [_trace(function, arguments, _shapes(leaves, axes, point)) for point in points]
    if len({tuple(map(id, captures)) for *_, captures in traces}) > 1:
        raise UnsupportedOnnxError("the function uses other tensors from outside where a size that is to be dynamic is another; "
                                   "export with dynamic=None, or for each size by itself")
    found = merged([outputs for outputs, _, _ in traces], Fit(list(sizes), points))
    find_layers(found, EMITTERS)
    captures = traces[0][2]
    where = {}
    for (i, axis), name in axes.items():
        where.setdefault(name, (names[i], axis))
    builder = Builder(where)
    return _written(builder, found, names, leaves, axes, captures, function, output_names, version)


def _version(opset):
    newest = min(NEWEST, onnx().defs.onnx_opset_version())
    if opset is None:
        return newest
    if not isinstance(opset, int) or not OLDEST <= opset <= newest:
        raise ArgumentError(f"opset must be an integer from {OLDEST} to {newest}, got {opset!r}")
    return opset


def _in_eval(function):
    """Put a module into eval mode; what it was in, to be restored."""
    modules = list(function.modules()) if isinstance(function, Module) else []
    modes = [(m, m.training) for m in modules]
    for m in modules:
        m.training = False
    return modes


def _trace(function, arguments, shapes):
    """(outputs as nodes or arrays, the number of inputs, the tensors from outside in their order) for inputs of `shapes`."""
    found = captured(function, arguments, shapes)
    lowering = Lowering({*EMITTERS})
    for i, symbol in enumerate(found.inputs):
        lowering.leaf(symbol, "input", i)
    for i, symbol in enumerate(found.captures):
        lowering.leaf(symbol, "capture", i)
    for symbol, array in found.made.items():
        lowering.constant(symbol, array)
    return lowering.nodes(found.outputs), len(found.inputs), list(found.captures.values())


def _shapes(leaves, axes, point):
    shapes = [list(leaf.shape) for leaf in leaves]
    for (i, axis), name in axes.items():
        shapes[i][axis] = point[name]
    return [tuple(shape) for shape in shapes]


def _input_names(function, arguments, given, count):
    if given is not None:
        if len(given) != count or len(set(given)) != count:
            raise ArgumentError(f"input_names must be {count} names that differ, got {given}")
        return list(given)
    called = function.forward if isinstance(function, Module) else getattr(function, "__wrapped__", function)
    code = getattr(getattr(called, "__func__", called), "__code__", None)
    parameters = list(code.co_varnames[:code.co_argcount]) if code is not None else []
    parameters = parameters[1:] if parameters[:1] == ["self"] else parameters
    found = []
    for place, argument in enumerate(arguments):
        inner = [leaf for leaf in tree.leaves(argument) if is_array(leaf)]
        stem = parameters[place] if place < len(parameters) else f"input_{place}"
        found += [stem] if len(inner) == 1 else [f"{stem}_{k}" for k in range(len(inner))]
    return found if len(set(found)) == count else [f"input_{i}" for i in range(count)]


def _dynamic_axes(dynamic, names, leaves):
    """{(number of an input, axis): name of its size}."""
    found = _named_axes(dynamic, names, leaves)
    sizes: dict[str, dict] = {}
    for (i, axis), name in found.items():
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"the size of an axis is named by a text that is not empty, got {name!r}")
        sizes.setdefault(name, {})[f"axis {axis} of {names[i]}"] = leaves[i].shape[axis]
    for name, of_axes in sizes.items():
        if len(set(of_axes.values())) > 1:
            told = ", ".join(f"{size} for {axis}" for axis, size in of_axes.items())
            raise ArgumentError(f"sizes of one name are equal, and {name!r} would be {told}; say which axes may change by "
                                "dynamic={input: {axis: name}}")
        if 0 in of_axes.values():
            raise ArgumentError(f"{name!r} is the size of an axis that is empty here; hand over arguments with something in it")
    return found


def _named_axes(dynamic, names, leaves):
    if dynamic is None:
        return {}
    if isinstance(dynamic, str):
        return {(i, 0): dynamic for i, leaf in enumerate(leaves) if leaf.ndim}
    if not isinstance(dynamic, dict) or not all([isinstance(axes, dict) for axes in dynamic.values()]):
        raise ArgumentError(f"dynamic is the name of the first size of all inputs, or {{input: {{axis: name}}}}, or None; got "
                            f"{dynamic!r}")
    found = {}
    for name, axes in dynamic.items():
        if name not in names:
            raise ArgumentError(f"dynamic names an input {name!r}; the inputs are {', '.join(names)}")
        leaf = leaves[names.index(name)]
        for axis, size in axes.items():
            if not -leaf.ndim <= axis < leaf.ndim:
                raise ArgumentError(f"the input {name!r} of {leaf.ndim} axes has no axis {axis}")
            found[names.index(name), axis % leaf.ndim] = size
    return found


def _written(builder, outputs, names, leaves, axes, captures, function, output_names, version):
    """(the model: inputs, initializers without their numbers, nodes, outputs; the numbers by name)."""
    helper = onnx().helper
    builder.taken.update(names)
    outer = _output_names(output_names, len(outputs), builder)
    tensors = _tensor_names(function, captures, builder)
    inputs = [helper.make_tensor_value_info(name, element_type(leaf.dtype), [axes.get((i, a), n) for a, n in enumerate(leaf.shape)])
              for i, (name, leaf) in enumerate(zip(names, leaves, strict=True))]
    for node in (nodes := ordered(outputs)):
        if node.name == "input":
            builder.names[node] = names[node.args[0]]
        elif node.name == "capture":
            builder.names[node] = name = tensors[node.args[0]]
            builder.initializers[name] = _numbers(captures[node.args[0]])
    builder.emit(nodes)
    results = [builder(o) for o in outputs]
    for name, result in zip(outer, results, strict=True):
        builder.nodes.append(helper.make_node("Identity", [result], [name], name=builder.fresh(f"node_{name}")))
    infos = [helper.make_tensor_value_info(name, element_type(o.dtype),
                                           [repr(n) if isinstance(n, Dimension) else n for n in o.shape])
             for name, o in zip(outer, outputs, strict=True)]
    kept = {name for name, value in (function.named_buffers() if isinstance(function, Module) else ())}
    held = [onnx().TensorProto(name=name, data_type=element_type(array.dtype), dims=array.shape)
            for name, array in builder.initializers.items()]
    graph = helper.make_graph([*builder.constants, *builder.nodes], getattr(function, "__name__", type(function).__name__), inputs,
                              infos, held)
    versions = [helper.make_opsetid("", version)]
    model = helper.make_model(graph, opset_imports=versions, producer_name="retrograde")
    # The oldest form of a file that has these operators, so that older runtimes take it too.
    model.ir_version = helper.find_min_ir_version_for(versions)
    statistics = [name for name in builder.initializers if name in kept]
    if statistics:
        model.metadata_props.add(key=BUFFERS, value=json.dumps(statistics))
    return model, builder.initializers


def _numbers(value):
    return np.asarray(value.detach().raw if isinstance(value, Value) else value)


def _output_names(given, count, builder):
    if given is None:
        given = ["output"] if count == 1 else [f"output_{i}" for i in range(count)]
    if len(given) != count or len(set(given)) != count:
        raise ArgumentError(f"output_names must be {count} names that differ, got {given}")
    if builder.taken & set(given):
        raise ArgumentError(f"an output cannot have the name of an input, got {given}")
    builder.taken.update(given)
    return list(given)


def _tensor_names(function, captures, builder):
    """A name for each tensor from outside: that in `state_dict`, if the function is a module that has it."""
    known = {}
    if isinstance(function, Module):
        for name, value in [*function.named_parameters(remove_duplicate=True), *function.named_buffers()]:
            known.setdefault(id(value), name)
    return [builder.fresh(known.get(id(value), "tensor")) for value in captures]



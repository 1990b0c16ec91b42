"""Building: what writes nodes of ONNX, with the names of values, constants, and shapes that are computed."""

from collections import ChainMap

import numpy as np

from ..errors import RetrogradeError, UnsupportedOnnxError
from .dimensions import Dimension
from .library import element_type, onnx
from .nodes import Node

#: {name of an op: what writes it}, filled by `emits`.
EMITTERS: dict = {}


def emits(*names):
    """Let the decorated function write the ops `names`.

    It is called with a Builder, the node and its arguments, and returns the name of the result, or a tuple of names.
    """
    def decorated(function):
        EMITTERS.update(dict.fromkeys(names, function))
        return function

    return decorated


class Builder:
    """A graph of ONNX that is being written. A builder of a body has an `outer` one, whose names it may use.

    sizes  {name of a dynamic size: (name of an input, axis)}
    """

    def __init__(self, sizes, outer=None):
        self.nodes, self.sizes = [], sizes
        #: {node: the name of its value, or a tuple of names}.
        self.names = ChainMap() if outer is None else outer.names.new_child()
        self.initializers = {} if outer is None else outer.initializers
        #: The nodes of constants, which stand before all others, also those that bodies use.
        self.constants = [] if outer is None else outer.constants
        self.taken = set() if outer is None else outer.taken
        self.held = {} if outer is None else outer.held
        self._measured = {}

    def fresh(self, stem):
        """A name that nothing has."""
        name, number = stem, 1
        while name in self.taken:
            name, number = f"{stem}_{number}", number + 1
        self.taken.add(name)
        return name

    def add(self, operator, inputs, count=None, /, **attributes):
        """Write a node; the name of its result, or `count` names."""
        names = [self.fresh(operator.lower()) for _ in range(count or 1)]
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(onnx().helper.make_node(operator, list(inputs), names, name=self.fresh(f"node_{names[0]}"), **given))
        return names[0] if count is None else tuple(names)

    def __call__(self, value, dtype=None):
        """The name of a value: of a node, converted to `dtype` if it has another one; of an array or a number in `dtype`."""
        if isinstance(value, Node):
            name = self.named(value)
            return name if dtype is None or value.dtype == dtype else self.cast(name, dtype)
        array = np.asarray(value)
        if isinstance(value, Dimension):
            return self.cast(self.scalar(value), dtype or np.int64)
        return self.constant(array if dtype is None else array.astype(dtype))

    def named(self, node):
        """The name that a node has here or around here, or the names of its results."""
        if node not in self.names:
            raise UnsupportedOnnxError(f"a result of {node.name} is used outside of the loop that computes it")
        return self.names[node]

    def cast(self, name, dtype):
        """The name of a value in another dtype."""
        return self.add("Cast", [name], to=element_type(dtype))

    def constant(self, array):
        """The name of an array that the model holds; equal small ones are held once.

        It is a node, not an initializer: it is no parameter, which whoever reads the model sees by that.
        """
        array = np.asarray(array)
        key = (array.dtype.str, array.dtype.name, array.shape, array.tobytes()) if array.size <= 64 else id(array)
        if key not in self.held:
            name = self.fresh("constant")
            tensor = onnx().numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            self.constants.append(onnx().helper.make_node("Constant", [], [name], value=tensor, name=self.fresh(f"node_{name}")))
            self.held[key] = name, array  # kept, so that its identity stays its own
        return self.held[key][0]

    def integers(self, numbers):
        """The name of integers in one row; those that are Dimensions are computed."""
        if not any(isinstance(n, Dimension) for n in numbers):
            return self.constant(np.array(list(numbers), np.int64))
        return self.add("Concat", [self.row(n) for n in numbers], axis=0) if len(numbers) > 1 else self.row(numbers[0])

    def row(self, number):
        """The name of one integer, in an array of one axis."""
        if not isinstance(number, Dimension):
            return self.constant(np.array([number], np.int64))
        total = None
        for names, factor in number.terms.items():
            term = None
            for name in names:
                term = self._size(name) if term is None else self.add("Mul", [term, self._size(name)])
            if term is None or factor != 1:
                known = self.constant(np.array([factor], np.int64))
                term = known if term is None else self.add("Mul", [term, known])
            total = term if total is None else self.add("Add", [total, term])
        return total

    def scalar(self, number):
        """The name of one integer without axes."""
        if not isinstance(number, Dimension):
            return self.constant(np.array(number, np.int64))
        return self.add("Squeeze", [self.row(number)])

    def _size(self, name):
        if name not in self._measured:
            source, axis = self.sizes[name]
            self._measured[name] = self.add("Shape", [source], start=axis, end=axis + 1)
        return self._measured[name]

    def emit(self, nodes):
        """Write nodes, in their order."""
        for node in nodes:
            if node not in self.names:
                try:
                    self.names[node] = EMITTERS[node.name](self, node, *node.args)
                except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
                    if isinstance(error, RetrogradeError):
                        raise
                    raise UnsupportedOnnxError(f"{node.name} is called in a way that is not exported: {error}") from error


def fixed(number, what):
    """`number`, which must be known when the model is written."""
    if isinstance(number, Dimension):
        raise UnsupportedOnnxError(f"{what} is {number}, and ONNX must know it when the model is written; export with dynamic=None")
    return number


def axes_of(axis, ndim):
    """Axes as a list of numbers from 0 on."""
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else [axis]
    return [int(a) % ndim for a in axes] if ndim else []

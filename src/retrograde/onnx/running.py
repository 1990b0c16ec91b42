"""Running: a graph of operators as a list of steps, each a rule of ours or a function of operators, computed one after another."""

from collections import ChainMap
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import OnnxError, RetrogradeError
from .values import is_computed, numbers, settled


class Scope(ChainMap):
    """The values of a graph by name, and those of the graphs around it."""

    def __missing__(self, name):
        raise OnnxError(f"nothing is named {name!r}")

    def drop(self, names):
        """Forget values that nothing needs any more."""
        for name in names:
            self.maps[0].pop(name, None)


@dataclass
class Context:
    """What a rule may know of the node that it computes.

    version   of the operators of its domain
    count     how many results are asked for, up to the last one that has a name
    scope     the values around it, which graphs among its attributes see
    training  whether the model is being trained
    """

    version: int
    count: int
    scope: Any
    training: bool

    def run(self, graph, values):
        """The results of a graph among the attributes."""
        return graph.run(values, self.scope, self.training)


@dataclass
class Step:
    """One node: what computes it, on what, under which names its results go, and which names nobody needs after it."""

    label: str
    operator: str
    inputs: tuple
    outputs: tuple
    attributes: dict
    rule: Any
    version: int
    dropped: tuple = ()

    def run(self, scope, training):
        """Compute it, and put the results into `scope`."""
        values = [scope[name] if name else None for name in self.inputs]
        try:
            with np.errstate(all="ignore"):
                found = self._computed(values, scope, training)
        except RetrogradeError as error:
            if not hasattr(error, "__notes__"):
                error.add_note(f"raised in {self.label} of the ONNX model")
            raise
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, ArithmeticError, MemoryError,
                NotImplementedError) as error:
            raise OnnxError(f"{self.label} cannot be computed: {error}") from error
        results = found if isinstance(found, tuple) else (found,)
        if len(results) < len(self.outputs):
            raise OnnxError(f"{self.label} has {len(results)} results, and the model takes {len(self.outputs)}")
        for name, value in zip(self.outputs, results, strict=False):
            if name:
                scope[name] = settled(value)
        scope.drop(self.dropped)

    def _computed(self, values, scope, training):
        rule = self.rule
        values = [numbers(v) if v is not None and not isinstance(v, (list, Missing)) and (rule.numbers is None or i in rule.numbers)
                  else v for i, v in enumerate(values)]
        extra = {"context": Context(self.version, len(self.outputs), scope, training)} if rule.wants_context else {}
        return rule.function(*values, **self.attributes, **extra)


class Missing:
    """An optional value of ONNX that is not there."""


#: The one value of its kind.
MISSING = Missing()


@dataclass
class Graph:
    """A graph of operators.

    inputs     the names of what it is given, in order
    defaults   those of them that need not be given
    outputs    the names of its results
    constants  {name: array} of what it holds
    steps      in an order in which each has what it needs
    outer      the names of what it takes from the graphs around it
    """

    name: str
    inputs: tuple
    outputs: tuple
    constants: dict
    steps: list = field(default_factory=list)
    outer: frozenset = frozenset()

    def run(self, values, outer=None, training=False):
        """The results for `values`, one for each input, or by name."""
        scope = Scope() if outer is None else outer.new_child()
        for name, value in self.constants.items():
            scope[name] = value
        if not isinstance(values, dict):
            if len(values) > len(self.inputs):
                raise OnnxError(f"{self.name} takes {len(self.inputs)} inputs, got {len(values)}")
            values = dict(zip(self.inputs, values, strict=False))
        for name, value in values.items():
            scope[name] = value
        for step in self.steps:
            step.run(scope, training)
        return [scope[name] if name else None for name in self.outputs]


def stored_only(x):
    """Whether `x` has a dtype that nothing computes with."""
    return not is_computed(x.dtype)

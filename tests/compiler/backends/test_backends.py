"""Backends are interchangeable: what is behind the interface makes programs, and nothing else of the compiler knows which one it is."""

import sys

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.compiler.backends import reference
from retrograde.compiler.backends.interface import Backend
from retrograde.compiler.run.library_call import array_of, computed
from retrograde.compiler.run.program import Program
from retrograde.core.symbol import replaced
from retrograde.errors import ArgumentError

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


class NodeByNode(Backend):
    """A backend written from the interface alone: it notes what it is asked, and computes each stored node by itself."""

    def __init__(self):
        self.asked = []

    def target(self):
        self.asked.append("target")
        return "a target"

    def written(self, draft, target):
        self.asked.append(("written", target))
        return [step.kernel.called(step, self.program) or Nodes(step.roots, set(draft.schedule.read_by(step))) for step in draft.schedule.steps]

    def load(self, graph, draft, parts):
        self.asked.append(("load", len(parts) == len(draft.schedule.steps)))
        return Loaded(graph, draft.layout(), parts)


class Nodes:
    """Nodes, each from what the plan lets its step read: what else was stored may be gone."""

    def __init__(self, nodes, read):
        self._nodes, self._read = nodes, read

    def run(self, arrays):
        """Compute them, and write them when all are known."""
        found = [self._value(node, arrays, True) for node in self._nodes]
        for node, value in zip(self._nodes, found, strict=True):
            np.copyto(arrays[node], value)

    def _value(self, node, arrays, is_root=False):
        if not is_root and (node.op is None or node in self._read):
            return array_of(node, arrays)
        value = computed(node, replaced(node.args, lambda a: self._value(a, arrays)))
        return value if node.shape is None else np.asarray(value).astype(node.dtype)


class Loaded(Program):
    """A program of this backend."""

    def __init__(self, graph, layout, parts):
        super().__init__(graph, layout)
        self._parts = parts

    def __call__(self, arrays):
        fresh = {node: np.empty(node.shape, node.dtype) for node in self.fresh}
        found = self.arrays(arrays, fresh)
        for part in self._parts:
            part.run(found)
        return self.finished(found, fresh)


@pytest.fixture
def own(monkeypatch):
    made = NodeByNode()
    module = type(sys)("retrograde.compiler.backends.own")
    module.BACKEND = made
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(backends._MODULES, "own", "own")
    monkeypatch.setenv(backends.VARIABLE, "own")
    return made


X = np.linspace(-1, 1, 60, dtype=np.float32).reshape(6, 10)
FUNCTIONS = {
    "elementwise and a sum": lambda x: rg.sin(x).sum(axis=0) * 2,
    "a product and views": lambda x: rg.softmax(x @ x.T, axis=1)[::2],
    "a gradient": rg.grad(lambda x: (rg.exp(x[1:]) * x[:-1]).sum()),
    "a library call": lambda x: rg.linalg.eigvalsh(x.T @ x),
    "a loop": lambda x: rg.scan(lambda c, row: (c * 0.5 + row, rg.tanh(c)), x[0], x)[1],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_backend_written_from_the_interface_alone_gives_the_numbers_of_eager_calls(own, name):
    function = FUNCTIONS[name]
    np.testing.assert_allclose(rg.jit(function)(rg.tensor(X)).numpy(), function(rg.tensor(X)).numpy(), rtol=1e-5, atol=1e-5)
    # Two programs at least where a loop runs from Python: its body is made by the same backend.
    assert own.asked.count("target") == (2 if name == "a loop" else 1)
    assert own.asked[:3] == ["target", ("written", "a target"), ("load", True)]


def test_a_training_step_updates_state_on_any_backend(own):
    def step(x):
        with rg.no_grad():
            weight[...] = weight - 0.1 * rg.grad(lambda w: ((x @ w) ** 2).sum())(weight)
        return weight.sum()

    found = []
    for run in (rg.jit(step), step):
        weight = rg.tensor(np.ones((10, 3), np.float32))
        found.append(([run(rg.tensor(X)).item() for _ in range(3)], weight.numpy().copy()))
    assert ("load", True) in own.asked
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


def test_eager_ops_are_left_to_numpy_by_a_backend_that_says_nothing_of_them(own):
    assert own.eager("product")(X, X.T) is NotImplemented
    assert reference.BACKEND.eager("function")("sin", rg.sin, [X]) is NotImplemented


def test_a_backend_that_there_is_not_is_refused_with_the_names_of_those_that_there_are(monkeypatch):
    monkeypatch.setenv(backends.VARIABLE, "gpu")
    with pytest.raises(ArgumentError, match=r"RETROGRADE_COMPILER must be one of native, reference, got 'gpu'"):
        backends.chosen()


def test_threads_are_asked_of_the_backend_and_one_that_has_none_uses_one(own):
    assert rg.get_num_threads() == 1
    rg.set_num_threads(5)
    assert rg.get_num_threads() == 1
    own.get_num_threads, own.set_num_threads = (lambda: own.asked[-1]), own.asked.append
    rg.set_num_threads(5)
    assert rg.get_num_threads() == 5
    with pytest.raises(ArgumentError, match="the number of threads must be an integer of at least 1, got 0"):
        rg.set_num_threads(0)
    assert rg.get_num_threads() == 5

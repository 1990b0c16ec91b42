"""ONNX's own tests of its operators: a part of them in the default run, all of them in the long one."""

import warnings

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("onnx")

from tests.suites import onnx_nodes
from tests.suites.running import explained
from tiers import drawn

#: What the default run has a part of: importing all makes thousands of arrays.
MODULES = ("conv", "convtranspose", "gemm", "softmax", "layernormalization", "lstm", "gru", "loop", "scan", "if_", "gathernd", "resize",
           "quantizelinear", "reducesum", "slice", "cast", "sequence_map", "einsum", "attention", "averagepool", "gridsample", "scatternd")


def outcomes(cases):
    rg.manual_seed(0)
    return [onnx_nodes.outcome(case) for case in cases]


def test_a_part_of_the_node_tests_passes():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tests are made by code that divides by zero
        cases = [case for case in onnx_nodes.cases_of(MODULES) if drawn(case.name, 6)]
    assert len(cases) > 60
    assert explained(outcomes(cases), onnx_nodes.REASONS)[1] == []


def compiled(model, *inputs):
    """What a compiled model gives, of whose inputs the floats are traced; shapes and the like are numbers."""
    floats = [isinstance(x, np.ndarray) and x.dtype.kind == "f" for x in inputs]

    @rg.jit
    def function(*traced):
        left = iter(traced)
        return model(*[next(left) if is_float else x for x, is_float in zip(inputs, floats, strict=True)])

    return function(*[rg.asarray(x) for x, is_float in zip(inputs, floats, strict=True) if is_float])


def test_compiled_models_give_the_same_or_say_that_they_cannot_be():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [c for c in onnx_nodes.cases_of(MODULES) if onnx_nodes.has_floats(c) and drawn(c.name, 25)]
    found = [onnx_nodes.outcome(case, compiled) for case in cases if onnx_nodes.outcome(case).state == "passed"]
    assert [one for one in found if one.state != "passed" and not one.message.startswith("TraceError")] == []
    assert len([one for one in found if one.state == "passed"]) > 8


@pytest.mark.long
def test_all_node_tests_pass_or_fail_for_a_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = onnx_nodes.cases()
    found = outcomes(cases)
    _, unexplained, stale = explained(found, onnx_nodes.REASONS)
    assert (unexplained, stale) == ([], [])
    passed = [one.state == "passed" for one in found]
    floats = [ok for ok, case in zip(passed, cases, strict=True) if onnx_nodes.has_floats(case)]
    assert sum(passed) / len(passed) > 0.97
    assert sum(floats) / len(floats) > 0.98

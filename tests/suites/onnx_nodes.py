"""ONNX's own tests of its operators, `python -m tests.suites.onnx_nodes [--only WORD]`: of the onnx package installed, through our importer.

A test is a model of one operator, or of what that is made of, with inputs and what must come of them. A skip would be a failure; there
are none. The table has a row for each operator of which some test fails.
"""

import argparse
import importlib
import sys
from collections import Counter

import numpy as np
import onnx

import retrograde as rg
from tests.suites.running import Outcome, explained

#: Why tests fail, by patterns of their names.
REASONS = {
    "test_image_decoder_*": "images are not decoded; decode them before the model",
    "test_tfidfvectorizer_*": "TfIdfVectorizer has no counterpart",
    "test_strnormalizer_*": "StringNormalizer has no counterpart: it depends on the locale",
    "test_regex_full_match_*": "RegexFullMatch has no counterpart: a pattern in a file could run for ever",
    "test_ai_onnx_ml_tree_ensemble_*": "TreeEnsemble has no counterpart",
    "test_attention_*16*": "attention in 16 bits, computed by its definition, is rounded in other places",
    "test_bernoulli*": "the numbers are drawn by our own generator",
    "test_training_dropout*": "the numbers are drawn by our own generator",
}
#: The element types of ONNX that are floats of 16 bits or more.
_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16)


def cases():
    """All node tests of the onnx package."""
    collect = importlib.import_module("onnx.backend.test.case.node").collect_testcases
    return [case for case in collect(None) if case.kind == "node"]


def cases_of(modules):
    """The node tests that are there once some modules of them are imported: importing one makes its tests."""
    for name in modules:
        importlib.import_module(f"onnx.backend.test.case.node.{name}")
    return list(importlib.import_module("onnx.backend.test.case.node")._NodeTestCases)


def operator(case):
    """The operator that a test is of: that of its only node, or else the one that its name begins with."""
    return case.model.graph.node[0].op_type if len(case.model.graph.node) == 1 else case.name.removeprefix("test_").split("_")[0]


def has_floats(case):
    """Whether one of the inputs is of floats."""
    return any(i.type.HasField("tensor_type") and i.type.tensor_type.elem_type in _FLOATS for i in case.model.graph.input)


def outcome(case, call=lambda model, *inputs: model(*inputs)):
    """What becomes of a test whose model is called by `call`."""
    try:
        model = rg.onnx.load(case.model)
        for inputs, outputs in case.data_sets:
            found = call(model, *map(_value, inputs))
            found = found if isinstance(found, tuple) else (found,)
            assert len(found) == len(outputs), f"{len(found)} results"
            for got, wanted in zip(found, outputs, strict=True):
                _compare(got, _value(wanted), case.rtol, case.atol)
    except (AssertionError, rg.errors.RetrogradeError) as error:
        text = " ".join(str(error).split())
        return Outcome(case.name, "failed", f"{type(error).__name__}: {text[:200]}")
    return Outcome(case.name, "passed")


def _value(x):
    """What a test holds, as arrays and lists."""
    helper = onnx.numpy_helper
    for kind, read in ((onnx.TensorProto, helper.to_array), (onnx.SequenceProto, helper.to_list), (onnx.OptionalProto, helper.to_optional)):
        if isinstance(x, kind):
            return read(x)
    return x


def _compare(got, wanted, rtol, atol):
    """Raise an AssertionError unless a result is what it must be."""
    if wanted is None or isinstance(wanted, (list, tuple)):
        assert wanted is None or isinstance(got, list) and len(got) == len(wanted), "a list is expected"
        for pair in zip(got, wanted, strict=True) if wanted else ():
            _compare(*pair, rtol, atol)
        return
    got = got.detach().numpy() if isinstance(got, rg.Tensor) else np.asarray(got)
    wanted = np.asarray(wanted)
    assert got.shape == wanted.shape, f"shape {got.shape} and not {wanted.shape}"
    if wanted.dtype.kind in "OUT":
        assert (got.astype(object) == wanted.astype(object)).all(), f"{got} and not {wanted}"
        return
    assert got.dtype == wanted.dtype, f"{got.dtype} and not {wanted.dtype}"
    if wanted.dtype.kind not in "biufc":
        got, wanted = got.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_allclose(got, wanted, rtol=rtol, atol=atol)


def table(found, tests):
    """What is printed: how many passed, by operator where some failed, and why."""
    by_operator = {}
    for one, case in zip(found, tests, strict=True):
        by_operator.setdefault(operator(case), Counter())[one.state] += 1
    passed = [one.state == "passed" for one in found]
    floats = [ok for ok, case in zip(passed, tests, strict=True) if has_floats(case)]
    lines = ["| operator | passed | failed |", "| --- | --- | --- |"]
    lines += [f"| {name} | {counts['passed']} | {counts['failed']} |" for name, counts in sorted(by_operator.items()) if counts["failed"]]
    by_reason, unexplained, stale = explained(found, REASONS)
    lines += ["", "| failed | reason |", "| --- | --- |", *[f"| {len(names)} | {why} |" for why, names in by_reason.items()], ""]
    lines += [f"without a reason: {one.name}: {one.message}" for one in unexplained]
    lines += [f"a reason without a failure: {pattern}" for pattern in stale]
    lines.append(f"{sum(passed)} of {len(passed)} passed, {sum(passed) / max(1, len(passed)):.1%}; of those with floats {sum(floats)} of "
                 f"{len(floats)}, {sum(floats) / max(1, len(floats)):.1%}")
    return "\n".join(lines)


def main():
    """Run the tests, print the table; the exit status is 0 if each failure has a reason."""
    parser = argparse.ArgumentParser(description="ONNX's tests of its operators through rg.onnx.load.")
    parser.add_argument("--only", default="", help="a part of the names of those that run")
    given = parser.parse_args()
    tests = [case for case in cases() if given.only in case.name]
    found = [outcome(case) for case in tests]
    print(table(found, tests))
    return 1 if explained(found, REASONS)[1] else 0


if __name__ == "__main__":
    sys.exit(main())

"""Calls in PyTorch's spelling give what PyTorch gives: values, shapes, dtypes, names of results, gradients."""

import numpy as np
import pytest
from both import array, gradients, inputs, leaves, told
from calls import CALLS

import retrograde.torch as ours

theirs = pytest.importorskip("torch", reason="compares with PyTorch: the extra oracle")


@pytest.mark.parametrize("call", CALLS)
def test_a_call_gives_what_pytorch_gives(call):
    answers = {}
    for torch in (theirs, ours):
        given = inputs(torch)
        answers[torch] = eval(call, given), given
    (wanted, their_inputs), (found, our_inputs) = answers[theirs], answers[ours]
    assert list(map(told, leaves(found))) == list(map(told, leaves(wanted)))
    assert getattr(found, "_fields", None) == ([n for n in dir(wanted) if n in found._fields] and found._fields if hasattr(found, "_fields") else None)
    for x, y in zip(leaves(found), leaves(wanted), strict=True):
        if hasattr(y, "detach"):
            assert type(x) is ours.Tensor
            np.testing.assert_allclose(array(x), array(y), 2e-4, 2e-5)
    slopes, expected = gradients(found, our_inputs), gradients(wanted, their_inputs)
    for name, slope in expected.items():
        np.testing.assert_allclose(slopes.get(name, np.zeros(slope.shape)), slope, 2e-3, 2e-4, err_msg=name)

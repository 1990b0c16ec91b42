"""Sparse tensors do what PyTorch's do: values, where they stand, layouts, texts and gradients."""

import numpy as np
import pytest
from sparse_calls import CALLS, inputs

import retrograde.torch as ours

theirs = pytest.importorskip("torch", reason="compares with PyTorch: the extra oracle")
pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")


def _found(call, torch):
    given = inputs(torch)
    found = eval(call, given)
    if isinstance(found, list):
        return found
    is_sparse = str(found.layout) != "torch.strided"
    dense = found.to_dense() if is_sparse else found
    facts = [str(found.layout), str(found.dtype).removeprefix("torch."), tuple(found.shape)]
    slopes = {}
    if dense.requires_grad:
        (dense * dense).sum().backward()
        slopes = {name: given[name].grad.to_dense().numpy() for name in "xydefmv" if given[name].grad is not None}
    where = found.coalesce().indices().tolist() if facts[0] == "torch.sparse_coo" else None
    return facts, where, dense.detach().numpy(), slopes


@pytest.mark.parametrize("call", CALLS)
def test_a_call_on_sparse_tensors_gives_what_pytorch_gives(call):
    found, wanted = _found(call, ours), _found(call, theirs)
    if isinstance(found, list):
        assert found == wanted
        return
    assert found[:2] == wanted[:2]
    np.testing.assert_allclose(found[2], wanted[2], 1e-5, 1e-6)
    assert sorted(found[3]) == sorted(wanted[3])
    for name, slope in wanted[3].items():
        np.testing.assert_allclose(found[3][name], slope, 1e-4, 1e-5, err_msg=name)

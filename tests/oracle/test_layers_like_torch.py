"""Every layer that PyTorch has too: results, gradients, buffers and names of the state."""

import pytest

from layer_cases import CASES, Ours, assert_agree, run

pytest.importorskip("torch")
torch_layers = pytest.importorskip("torch_layers")


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning", "ignore:.*nested tensors.*:UserWarning",
                            "ignore:Since version 1.3.0, affine_grid:UserWarning")
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_layer_gives_what_torch_gives(case):
    assert_agree(run(case, Ours()), run(case, torch_layers.Theirs()))

"""Every layer and function of layers, through `retrograde.torch`: what PyTorch gave for it, of PyTorch's kind throughout."""

import pytest

from layer_cases import CASES, Ours, assert_agree, recorded, run
from retrograde import torch


class Door(Ours):
    """Layers of `retrograde.torch`, which may be compiled."""

    tensor, nn = staticmethod(torch.tensor), torch.nn

    def seen(self, output):
        assert isinstance(output, torch.Tensor)
        return output


@pytest.fixture(scope="module")
def record():
    return recorded()


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_layer_gives_what_torch_gave(case, record):
    assert_agree(run(case, Door()), record[repr(case)])


@pytest.mark.parametrize("case", CASES[::9], ids=repr)
def test_compiled_layer_gives_what_torch_gave(case, record):
    assert_agree(run(case, Door(compiles=True)), record[repr(case)])


@pytest.mark.parametrize("case", [case for case in CASES if case.is_layer], ids=repr)
def test_whatever_a_layer_keeps_is_of_pytorchs_kind(case):
    layer = Door().layer(case)
    assert all(isinstance(m, torch.nn.Module) for m in layer.modules())
    assert all(type(p) is torch.nn.Parameter for p in layer.parameters())
    assert all(type(b) is torch.Tensor for b in layer.buffers())

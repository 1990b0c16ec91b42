"""Batch norm taken into the layer before it."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError

PAIRS = [
    (lambda: nn.Conv2d(4, 6, 3, groups=2), lambda: nn.BatchNorm2d(6), (2, 4, 5, 5), False),
    (lambda: nn.Conv1d(4, 6, 3, bias=False), lambda: nn.BatchNorm1d(6, affine=False), (2, 4, 5), False),
    (lambda: nn.ConvTranspose2d(4, 3, 2), lambda: nn.BatchNorm2d(3), (2, 4, 3, 3), True),
    (lambda: nn.Linear(4, 3), lambda: nn.BatchNorm1d(3), (5, 4), None),
]


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_one_layer_does_what_two_did(number):
    rg.manual_seed(number)
    make, make_norm, shape, is_transposed = PAIRS[number]
    layer, norm = make(), make_norm()
    for _ in range(3):
        norm(layer(rg.randn(*shape) * 2 + 1))
    if norm.weight is not None:
        nn.init.uniform_(norm.weight, 0.5, 2)
        nn.init.uniform_(norm.bias, -1, 1)
    layer.eval(), norm.eval()
    fused = nn.utils.fuse_linear_bn_eval(layer, norm) if is_transposed is None else nn.utils.fuse_conv_bn_eval(layer, norm, is_transposed)
    x = rg.randn(*shape)
    np.testing.assert_allclose(fused(x).detach(), norm(layer(x)).detach(), rtol=1e-4, atol=1e-5)
    assert type(fused) is type(layer) and not np.shares_memory(fused.weight.data, layer.weight.data)
    assert all(isinstance(p, nn.Parameter) for p in (fused.weight, fused.bias))


def test_what_cannot_be_fused_is_named():
    conv, norm = nn.Conv1d(2, 2, 1), nn.BatchNorm1d(2)
    with pytest.raises(ArgumentError, match=r"call eval\(\) on both"):
        nn.utils.fuse_conv_bn_eval(conv, norm.eval())
    with pytest.raises(ArgumentError, match="without running statistics"):
        nn.utils.fuse_conv_bn_eval(conv.eval(), nn.BatchNorm1d(2, track_running_stats=False).eval())
    with pytest.raises(ArgumentError, match="of 2 groups"):
        nn.utils.fuse_conv_bn_eval(nn.ConvTranspose1d(2, 2, 1, groups=2).eval(), norm, transpose=True)

import math

import numpy as np
import pytest

import retrograde as rg
from retrograde.nn import init

SHAPE = (200, 300)
SPREADS = {
    "xavier_uniform_": math.sqrt(2 / 500), "xavier_normal_": math.sqrt(2 / 500),
    "kaiming_uniform_": math.sqrt(2 / 300), "kaiming_normal_": math.sqrt(2 / 300),
}


@pytest.mark.parametrize(("name", "spread"), SPREADS.items())
def test_weights_have_the_right_spread_and_signs_both_ways(name, spread):
    w = getattr(init, name)(rg.empty(SHAPE), generator=rg.Generator(0)).numpy()
    assert abs(w.std() / spread - 1) < 0.02
    assert abs(w.mean()) < spread / 50
    assert abs((w > 0).mean() - 0.5) < 0.01


def test_fans_of_a_kernel_count_its_taps():
    assert init.fans(rg.empty(8, 4, 3, 3)) == (36, 72)
    with pytest.raises(ValueError, match="at least two axes"):
        init.xavier_normal_(rg.empty(3))


def test_kaiming_takes_the_outputs_if_asked():
    w = init.kaiming_normal_(rg.empty(SHAPE), mode="fan_out", nonlinearity="relu", generator=rg.Generator(0)).numpy()
    assert abs(w.std() / math.sqrt(2 / 200) - 1) < 0.02
    with pytest.raises(ValueError, match="fan_in"):
        init.kaiming_normal_(rg.empty(SHAPE), mode="fan")


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (3, 2, 2, 2)])
def test_orthogonal_rows_or_columns_are_orthonormal(shape):
    w = init.orthogonal_(rg.empty(shape, dtype=rg.float64), gain=2).numpy().reshape(shape[0], -1) / 2
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, np.eye(len(product)), atol=1e-12)


def test_constants_and_truncation():
    assert init.constant_(rg.empty(2), 3).tolist() == [3, 3]
    assert init.eye_(rg.empty(2, 2)).tolist() == [[1, 0], [0, 1]]
    w = init.trunc_normal_(rg.empty(5000), a=-1, b=0.5, generator=rg.Generator(0)).numpy()
    assert w.min() >= -1
    assert w.max() <= 0.5


def test_a_parameter_is_written_in_place_and_stays_a_leaf():
    p = rg.nn.Parameter(rg.zeros(4))
    assert init.normal_(p) is p
    assert p.is_leaf
    assert p.requires_grad
    assert p.detach().numpy().any()


def test_layers_start_within_the_bounds_of_pytorch():
    rg.manual_seed(0)
    for layer, fan in ((rg.nn.Linear(50, 400), 50), (rg.nn.Conv2d(4, 100, 3), 36)):
        for p in layer.parameters():
            largest = np.abs(p.detach().numpy()).max()
            assert 0.9 / math.sqrt(fan) < largest <= 1 / math.sqrt(fan)


def test_the_seed_decides_the_weights():
    layers = [(rg.manual_seed(5), rg.nn.Linear(3, 3))[1] for _ in range(2)]
    np.testing.assert_array_equal(layers[0].weight.detach(), layers[1].weight.detach())


@pytest.mark.parametrize("groups", [1, 2])
def test_a_dirac_weight_passes_channels_on(groups):
    layer = rg.nn.Conv2d(4, 4, 3, padding=1, groups=groups, bias=False)
    init.dirac_(layer.weight, groups)
    x = rg.randn(2, 4, 5, 5, generator=rg.Generator(0))
    np.testing.assert_array_equal(layer(x).detach(), x)
    with pytest.raises(ValueError, match=r"whose first 3 groups divide, got shape \(4, 4, 3\)"):
        init.dirac_(rg.empty(4, 4, 3), 3)


def test_columns_of_a_sparse_weight_are_mostly_zero():
    w = init.sparse_(rg.empty(10, 6), 0.75, generator=rg.Generator(0)).numpy()
    assert ((w == 0).sum(0) == 8).all() and 0 < np.abs(w).max() < 0.1
    assert len({tuple(column) for column in (w == 0).T}) > 1

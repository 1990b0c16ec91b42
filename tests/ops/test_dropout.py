import numpy as np
import pytest

import retrograde as rg
from retrograde.ops.random.dropout import dropout, feature_dropout


@pytest.mark.parametrize("way", ["jit", "lazy"])
@pytest.mark.parametrize("p", [0.4, 1.0])
@pytest.mark.parametrize("function", [dropout, feature_dropout, lambda x, p: dropout(-x, p) * -2.0, lambda x, p: dropout(x @ x, p)])
def test_a_negative_number_that_is_dropped_is_minus_zero_in_every_way(function, p, way):
    x = rg.tensor(-np.ones((6, 6), "f"))
    rg.manual_seed(3)
    eager = function(x, p).numpy()
    rg.manual_seed(3)
    if way == "jit":
        found = rg.jit(lambda x: function(x, p))(x).numpy()
    else:
        with rg.lazy():
            found = function(x, p)
        found = found.numpy()
    np.testing.assert_array_equal(found, eager)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(eager))


def test_dropped_numbers_keep_their_sign():
    found = dropout(rg.tensor([-1.0, 1.0]), 1.0).numpy()
    np.testing.assert_array_equal(np.signbit(found), [True, False])


@pytest.mark.parametrize("way", [lambda f: f, rg.jit])
def test_alpha_dropout_keeps_mean_and_variance(way):
    rg.manual_seed(0)
    x = rg.randn(200, 500)
    found = way(lambda x: rg.nn.functional.alpha_dropout(x, 0.3, True))(x).numpy()
    assert found.mean() == pytest.approx(0, abs=0.02) and found.var() == pytest.approx(1, abs=0.02)
    scale, least = (0.7 * (1 + 0.3 * 1.7580993408473766**2)) ** -0.5, -1.7580993408473766
    kept = np.isclose(found, scale * (x.numpy() - 0.3 * least), atol=1e-5)
    dropped = np.isclose(found, scale * (least - 0.3 * least), atol=1e-5)
    assert (kept | dropped).all() and dropped.mean() == pytest.approx(0.3, abs=0.01)


def test_feature_alpha_dropout_drops_whole_channels_and_nothing_after_training():
    rg.manual_seed(0)
    layer, x = rg.nn.FeatureAlphaDropout(0.5), rg.randn(4, 8, 5, 5)
    found = layer(x).numpy().reshape(32, 25)
    is_dropped = (found == found[:, :1]).all(1)
    assert 0 < is_dropped.sum() < 32
    assert layer.eval()(x) is x and rg.nn.functional.alpha_dropout(x, 1.0, True).numpy().any() == 0


def test_slopes_of_rrelu_are_drawn_in_training():
    rg.manual_seed(0)
    slopes = -rg.nn.RReLU(0.1, 0.3)(rg.full((1000,), -1.0)).numpy()
    assert 0.1 <= slopes.min() < 0.11 and 0.29 < slopes.max() <= 0.3 and slopes.mean() == pytest.approx(0.2, abs=0.01)
    assert rg.nn.RReLU()(rg.tensor([2.0])).tolist() == [2.0]

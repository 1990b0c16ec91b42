import numpy as np
import pytest

import retrograde as rg
from retrograde.ops.dropout import dropout, feature_dropout


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

import numpy as np
import pytest

import retrograde as rg

theirs = pytest.importorskip("scipy.special", reason="retrograde.scipy needs SciPy")
special = pytest.importorskip("retrograde.scipy.special")
POINTS = np.array([0.3, 1.0, 1.7, 2.5, 9.0, 40.0])


@pytest.mark.parametrize("name", ["gammaln", "psi", "digamma"])
def test_numbers_are_those_of_scipy(name):
    found = getattr(special, name)(rg.tensor(POINTS, requires_grad=True))
    np.testing.assert_array_equal(found.detach().numpy(), getattr(theirs, name)(POINTS))


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma_has_the_numbers_of_scipy(n):
    found = special.polygamma(n, rg.tensor(POINTS, requires_grad=True))
    np.testing.assert_allclose(found.detach().numpy(), theirs.polygamma(n, POINTS), rtol=1e-15)


def test_derivatives_of_every_order_are_polygamma():
    function = special.gammaln
    for order in range(4):
        function = rg.elementwise_grad(function)
        np.testing.assert_allclose(function(POINTS), theirs.polygamma(order, POINTS), rtol=1e-14)


def test_compiled_derivatives_agree():
    slope = rg.elementwise_grad(special.gammaln)
    np.testing.assert_allclose(rg.jit(slope)(POINTS), slope(POINTS), rtol=1e-13)


def test_numbers_and_single_precision_keep_their_kind():
    assert isinstance(special.gammaln(2.5), float)
    assert special.gammaln(rg.tensor([2.5])).dtype == rg.float32

"""rg.special: PyTorch's names lead to the functions that SciPy has."""

import numpy as np
import pytest

import retrograde as rg

scipy = pytest.importorskip("scipy.special", reason="SciPy is the oracle")

RENAMED = {"bessel_j0": "j0", "bessel_j1": "j1", "bessel_y0": "y0", "bessel_y1": "y1", "modified_bessel_i0": "i0",
           "modified_bessel_i1": "i1", "multigammaln": "multigammaln"}
PAIRS = {"gammainc", "gammaincc", "xlogy", "xlog1py"}


@pytest.mark.parametrize("name", sorted({*rg.special.__all__} - {"round", "polygamma", "multigammaln"}))
def test_each_name_leads_to_its_function(name):
    x = np.linspace(0.1, 0.9, 5)
    oracle = {"sinc": np.sinc}.get(name) or getattr(scipy, RENAMED.get(name, name))
    arguments = (x, x[::-1].copy()) if name in PAIRS else (x,)
    np.testing.assert_allclose(getattr(rg.special, name)(*map(rg.tensor, arguments)), oracle(*arguments), rtol=1e-10)


def test_orders_and_sizes_are_given_as_in_torch():
    x = np.linspace(1.1, 3, 5)
    np.testing.assert_allclose(rg.special.polygamma(2, rg.tensor(x)), scipy.polygamma(2, x), rtol=1e-10)
    np.testing.assert_allclose(rg.special.multigammaln(rg.tensor(x), 3), [scipy.multigammaln(n, 3) for n in x], rtol=1e-10)
    assert rg.special.round(rg.tensor([0.5, 1.7])).tolist() == [0, 2]
    assert "special" in dir(rg)

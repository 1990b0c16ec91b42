"""linalg: products of many matrices, equations of tensors and powers, against NumPy."""

import numpy as np
import pytest

import retrograde as rg

RNG = np.random.default_rng(0)
CHAIN = [(2, 3), (3, 5), (5, 4), (4, 2)]


@pytest.mark.parametrize("shapes", [CHAIN, CHAIN[:2], [(3,), (3, 5), (5,)], [(2, 3), (3,)], [(3,), (3, 4)]], ids=str)
def test_multi_dot_is_the_product(shapes):
    arrays = [RNG.standard_normal(shape) for shape in shapes]
    expected = np.linalg.multi_dot(arrays)
    for found in (rg.linalg.multi_dot(list(map(rg.tensor, arrays))), rg.jit(lambda *xs: rg.linalg.multi_dot(xs))(*map(rg.tensor, arrays))):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    rg.testing.check_gradients(lambda *xs: rg.linalg.multi_dot(xs), tuple(arrays))


def test_tensorsolve_and_tensorinv_agree_with_numpy():
    a, b = RNG.standard_normal((4, 6, 8, 3)), RNG.standard_normal((4, 6))
    np.testing.assert_allclose(rg.linalg.tensorsolve(rg.tensor(a), rg.tensor(b)), np.linalg.tensorsolve(a, b), rtol=1e-9)
    moved = np.moveaxis(a, 3, 0)
    found = rg.linalg.tensorsolve(rg.tensor(moved), rg.tensor(b), dims=(0,))
    np.testing.assert_allclose(found, np.linalg.tensorsolve(moved, b, axes=(0,)), rtol=1e-9)
    np.testing.assert_allclose(rg.linalg.tensorinv(rg.tensor(a)), np.linalg.tensorinv(a), rtol=1e-9)
    small = RNG.standard_normal((4, 2, 2))
    np.testing.assert_allclose(rg.linalg.tensorinv(rg.tensor(small), ind=1), np.linalg.tensorinv(small, ind=1), rtol=1e-9)
    rg.testing.check_gradients(rg.linalg.tensorsolve, (small + 3 * np.eye(4).reshape(4, 2, 2), RNG.standard_normal(4)))


def test_vander_has_the_powers_in_growing_order():
    x = RNG.standard_normal((2, 4))
    np.testing.assert_allclose(rg.linalg.vander(rg.tensor(x), 3), np.stack([np.vander(row, 3, increasing=True) for row in x]))
    assert rg.linalg.vander(rg.tensor([2, 3])).tolist() == [[1, 2], [1, 3]]
    rg.testing.check_gradients(lambda x: rg.linalg.vander(x, 4), (x,))


@pytest.mark.parametrize(("make", "told"), [
    (lambda: rg.linalg.multi_dot([rg.ones(2, 2)]), "two matrices or more"),
    (lambda: rg.linalg.multi_dot([rg.ones(2, 2), rg.ones(2), rg.ones(2, 2)]), r"\(2, 2\), \(2,\), \(2, 2\)"),
    (lambda: rg.linalg.vander(rg.ones(2), 0), "N of at least 1"),
    (lambda: rg.linalg.tensorsolve(rg.ones(2, 3), rg.ones(2)), "2 x 2 elements"),
    (lambda: rg.linalg.tensorinv(rg.ones(2, 3), ind=1), "as many elements"),
])
def test_what_is_no_equation_is_named(make, told):
    with pytest.raises(ValueError, match=told):
        make()

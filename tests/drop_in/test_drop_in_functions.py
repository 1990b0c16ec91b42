"""Functions of the drop-in modules, where they do more than an op of ours: against NumPy, SciPy and differences."""

import numpy as onp
import pytest

import retrograde as rg
import retrograde.numpy as np
from retrograde.errors import ArgumentError
from retrograde.testing import check_gradients

pytest.importorskip("scipy")

from retrograde.scipy.integrate import odeint
from retrograde.scipy.linalg import sqrtm
from retrograde.scipy.signal import convolve

RNG = onp.random.default_rng(0)
A = RNG.normal(size=(2, 4, 4))


@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("a", [A, A + 1j * A[::-1]], ids=["real", "complex"])
def test_eigenvalues_are_those_of_the_triangle_that_numpy_reads(a, uplo):
    onp.testing.assert_allclose(np.linalg.eigvalsh(rg.tensor(a), uplo).data, onp.linalg.eigvalsh(a, uplo), atol=1e-12)
    values, vectors = onp.linalg.eigh(a, uplo)
    if vectors.dtype.kind == "c":  # NumPy leaves their phase as it comes
        largest = onp.take_along_axis(vectors, onp.abs(vectors).argmax(-2, keepdims=True), -2)
        vectors = vectors * onp.abs(largest) / largest
    for ours, theirs in zip(np.linalg.eigh(rg.tensor(a), uplo), (values, vectors), strict=True):
        onp.testing.assert_allclose(ours.data, theirs, atol=1e-12)
    check_gradients(lambda x: np.linalg.eigvalsh(x, uplo), (a,), order=1)
    of_numpy = lambda x: onp.linalg.eigvalsh(x, uplo).sum(where=[True, False, True, True])
    found = rg.grad(lambda x: np.sum(np.linalg.eigvalsh(x, uplo) * onp.array([1, 0, 1, 1])))(a)
    v, step = RNG.normal(size=a.shape), 1e-6
    numeric = (of_numpy(a + step * v) - of_numpy(a - step * v)) / (2 * step)
    onp.testing.assert_allclose((found.real * v).sum(), numeric, rtol=1e-6)


def test_the_complex_root_of_a_real_matrix_has_a_real_gradient_of_any_order():
    a = A[0] @ onp.diag([1.0, -2.0, 3.0, 4.0]) @ onp.linalg.inv(A[0])
    assert sqrtm(rg.tensor(a)).dtype == rg.complex128
    assert rg.grad(lambda x: np.real(sqrtm(x)).sum())(a).dtype == onp.float64
    check_gradients(sqrtm, (a,), order=2, eps=1e-4, rtol=1e-5)


def test_second_derivatives_of_a_solution_in_time_count_the_time_in_the_slope():
    exact = onp.exp(-0.5 * onp.array([0, 0.25, 1]))
    found = rg.hessian(lambda t: np.sum(odeint(lambda y, t: -y * t, np.array([1.0]), t)[1:]))(onp.array([0.0, 0.5, 1.0]))
    t = onp.array([0.5, 1.0])
    # y(t) = exp((t0² - t²) / 2) from t0 = 0
    onp.testing.assert_allclose(found, onp.diag([exact[1:].dot([0, 0]) + onp.exp(-t**2 / 2).sum(), *(t**2 - 1) * onp.exp(-t**2 / 2)]), atol=1e-5)


def test_a_convolution_along_no_axes_is_a_product_of_all_pairs():
    a, b = RNG.normal(size=(3, 5)), RNG.normal(size=(3, 4))
    onp.testing.assert_allclose(convolve(a, b, axes=([], []), dot_axes=([0], [0])), onp.tensordot(a, b, ([0], [0])))
    check_gradients(lambda a, b: convolve(a, b, axes=([], []), dot_axes=([0], [0])), (a, b))


def test_where_takes_names():
    condition, x, y = [True, False], onp.array([1.0, 2.0]), onp.array([3.0, 4.0])
    assert np.where(condition=condition, x=x, y=y).tolist() == [1, 4]
    assert rg.grad(lambda x: np.sum(np.where(condition, x, y=y)))(x).tolist() == [1, 0]
    assert np.where(condition)[0].tolist() == [0]
    with pytest.raises(ArgumentError, match="both"):
        np.where(condition, x)


@pytest.mark.parametrize("offset", [0, 1, -2])
@pytest.mark.parametrize(("axis1", "axis2"), [(0, 1), (-1, -2), (2, 0)])
def test_the_diagonal_of_what_was_made_of_a_diagonal_is_that(offset, axis1, axis2):
    D = RNG.normal(size=(2, 3))
    D[0, 0] = onp.inf
    made = np.make_diagonal(D, offset, axis1, axis2)
    onp.testing.assert_array_equal(onp.diagonal(made, offset, axis1, axis2), D)
    assert onp.count_nonzero(made) == D.size
    check_gradients(lambda D: np.make_diagonal(D, offset, axis1, axis2), (D[1:],))


def test_the_python_code_of_a_const_graph_runs_once():
    calls = []

    def slope(x, y):
        calls.append(1)
        return rg.grad(lambda x: np.sin(x) + x * 2)(x * y)

    replayed = rg.misc.const_graph(slope)
    assert [float(replayed(x, 0.5)) for x in (0.0, 1.0)] == pytest.approx([3.0, onp.cos(0.5) + 2])
    assert len(calls) == 1


def test_autograds_names_are_found_where_autograd_has_them():
    assert rg.core.make_vjp(np.sin, 0.0)[0](1.0) == 1
    assert rg.core.vspace(onp.ones(2)).size == 2
    assert rg.isinstance([], rg.list)
    assert rg.dict(a=1) == {"a": 1}
    assert rg.tuple([1]) == (1,)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = rg.core.nonsense

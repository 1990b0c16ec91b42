"""Functions of SciPy on tensors at the edges: the same values as on arrays, or a refusal in words."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, DTypeError
from retrograde.testing import check_gradients

scipy = pytest.importorskip("scipy")
linalg, special = pytest.importorskip("scipy.linalg"), pytest.importorskip("scipy.special")
ours = pytest.importorskip("retrograde.scipy")

LOWER, UPPER = np.array([[4.0, 99.0], [1.0, 3.0]]), np.array([[4.0, 1.0], [99.0, 3.0]])
HERMITIAN = np.array([[2, 99], [1j, 3]])
B = np.array([1.0, 2.0])
SYMMETRIC = np.array([[182.5 - 64.0j, -177.0 + 11.0j], [-177.0 + 11.0j, 180.0 - 11.0j]])
CALLS = {
    "a symmetric matrix by its lower triangle": lambda m, a: m.solve(a, B, lower=True, assume_a="sym"),
    "a positive definite matrix by its lower triangle": lambda m, a: m.solve(a, B, lower=True, assume_a="pos"),
    "a triangle of a matrix": lambda m, a: m.solve(a, B, assume_a="lower triangular"),
    "a diagonal of a matrix": lambda m, a: m.solve(a, B, assume_a="diagonal"),
    "a transposed matrix": lambda m, a: m.solve(a, B, transposed=True),
    "a list on the right": lambda m, a: m.solve_triangular(a, [1.0, 2.0], lower=True),
    "a lower factor": lambda m, a: m.cholesky(a, lower=True), "eigenvalues alone": lambda m, a: m.eigh(a, eigvals_only=True),
    "eigenvalues of a lower triangle": lambda m, a: m.eigvalsh(a),
}
DOMAINS = {
    "rel_entr": 2, "kl_div": 2, "huber": 2, "boxcox": 2, "inv_boxcox": 2, "gammasgn": 1,
}
PLACES = np.array([-np.inf, -3.5, -2.0, -0.5, 0.0, 1e-300, 0.5, 1.0, 2.0, np.nan])


@pytest.mark.parametrize("name", CALLS)
def test_linear_algebra_reads_what_scipy_reads(name):
    for a in (LOWER, HERMITIAN) if "definite" in name else (LOWER,):
        np.testing.assert_allclose(CALLS[name](ours.linalg, rg.tensor(a)).detach(), CALLS[name](linalg, a), rtol=1e-12)


def test_an_upper_factor_has_the_upper_triangle_alone():
    np.testing.assert_allclose(ours.linalg.cholesky(rg.tensor(UPPER)).detach(), linalg.cholesky(UPPER), rtol=1e-12)


@pytest.mark.parametrize("call", [
    lambda m, a: m.eigh(a, a), lambda m, a: m.eigh(a, b=a), lambda m, a: m.eigh(a, subset_by_index=[0, 0]),
    lambda m, a: m.eigvals(a, a), lambda m, a: m.eig(a, left=True), lambda m, a: m.pinv(a, atol=1.0),
    lambda m, a: m.solve(a, B, assume_a="banded"), lambda m, a: m.cholesky(a, lowr=True)])
def test_options_that_would_change_the_result_are_refused(call):
    with pytest.raises((DTypeError, ArgumentError), match="does not take"):
        call(ours.linalg, rg.tensor(np.eye(2)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", DOMAINS)
def test_values_at_the_edges_of_domains_are_those_of_scipy(name):
    args = (PLACES,) if DOMAINS[name] == 1 else (PLACES[1:, None], PLACES[None, 1:-1])
    found = getattr(ours.special, name)(*map(rg.tensor, args))
    np.testing.assert_allclose(np.asarray(found), getattr(special, name)(*args), rtol=1e-10)


def test_box_and_cox_have_slopes_at_an_exponent_of_zero():
    slope = rg.grad(lambda x: ours.special.inv_boxcox(x, 0.0) + ours.special.boxcox(x, 0.0))(1.5)
    assert slope == pytest.approx(np.exp(1.5) + 1 / 1.5)
    for name, first, second in (("boxcox", np.log(1.5)**2 / 2, np.log(1.5)**3 / 3), ("inv_boxcox", None, None)):
        function = getattr(ours.special, name)
        slopes = rg.grad(lambda e, f=function: f(1.5, e)), rg.grad(rg.grad(lambda e, f=function: f(1.5, e)))
        for slope, wanted in zip(slopes, (first, second), strict=True):
            assert slope(0.0) == pytest.approx(slope(1e-3) if wanted is None else wanted, rel=1e-2 if wanted is None else 1e-12)


@pytest.mark.parametrize(("kind", "is_lower"), [("her", False), ("pos", False), ("pos", True)])
def test_imaginary_parts_on_the_diagonal_of_a_hermitian_matrix_are_not_read(kind, is_lower):
    found = ours.linalg.solve(rg.tensor(SYMMETRIC), B, assume_a=kind, lower=is_lower)
    np.testing.assert_allclose(found.detach(), linalg.solve(SYMMETRIC, B, assume_a=kind, lower=is_lower), rtol=1e-10)


def test_a_matrix_that_is_said_to_be_positive_definite_and_is_not_is_an_error():
    a = np.array([[1.0, 4.0], [4.0, 5.0]])
    solve = lambda a: ours.linalg.solve(a, B, assume_a="pos")
    np.testing.assert_allclose(rg.jit(solve)(rg.tensor(np.eye(2) + 1)).data, linalg.solve(np.eye(2) + 1, B), atol=1e-12)
    check_gradients(lambda a: solve(a @ a.T + np.eye(2)), a)
    for m, x in ((linalg, a), (ours.linalg, rg.tensor(a, requires_grad=True))):
        with pytest.raises(np.linalg.LinAlgError):
            m.solve(x, B, assume_a="pos")


@pytest.mark.parametrize(("name", "args"), [
    ("boxcox", (0.01, -155.0)), ("boxcox", (100.0, 155.0)), ("inv_boxcox", (3e305, 155.0)), ("inv_boxcox", (-3e305, -155.0)),
    ("rel_entr", (1e-200, 1e200)), ("rel_entr", (2e150, 1e-200)), ("rel_entr", (0.3, 0.3 + 1e-12)),
    ("pseudo_huber", (1.0, 1e-18)), ("pseudo_huber", (1e-150, 1e-160)), ("pseudo_huber", (0.0, 2.0)),
    ("pseudo_huber", (-1.0, 2.0)), ("gammainc", (np.inf, 1.0)), ("gammainc", (np.inf, np.inf)), ("gammaincc", (np.inf, 1.0)),
    ("gammaincc", (2.0, np.inf))])
def test_values_that_a_plain_formula_loses_are_those_of_scipy(name, args):
    found = getattr(ours.special, name)(*map(rg.tensor, map(np.float64, args)))
    np.testing.assert_allclose(np.asarray(found), getattr(special, name)(*args), rtol=1e-12)


@pytest.mark.parametrize(("name", "args"), [
    ("boxcox", (0.3, 0.7)), ("inv_boxcox", (0.5, 0.51)), ("rel_entr", (0.5, 0.51)), ("rel_entr", (2.0, 0.1)), ("pseudo_huber", (0.7, 0.3)),
    ("pseudo_huber", (0.5, -2.0))])
def test_slopes_of_mended_formulas_agree_with_differences(name, args):
    check_gradients(getattr(ours.special, name), args)


@pytest.mark.parametrize("call", [
    lambda m, x: m.factorial(x, extend="complex"), lambda m, x: m.multigammaln(x, 1.2), lambda m, x: m.multigammaln(x, [1, 2])])
def test_options_of_special_functions_that_would_change_the_result_are_refused(call):
    with pytest.raises(ArgumentError, match=r"does not take|whole number"):
        call(ours.special, rg.tensor(3.5))


def test_a_function_that_takes_numbers_only_takes_tensors_of_one_number():
    assert ours.special.lmbda(1, rg.tensor(np.float64(0.1)))[0].tolist() == special.lmbda(1, 0.1)[0].tolist()


@pytest.mark.parametrize("name", ["boxcox", "inv_boxcox", "rel_entr", "kl_div", "pseudo_huber"])
def test_formulas_by_cases_are_the_same_when_compiled(name):
    function, args = getattr(ours.special, name), [rg.tensor([0.3, 2.0, 0.01]), rg.tensor([0.7, 0.1, 20.0])]
    np.testing.assert_allclose(rg.jit(function)(*args).data, function(*args).data, rtol=1e-5)

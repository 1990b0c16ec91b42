"""Linear algebra: factorizations, inverses and norms, with derivatives that do not depend on free signs and phases."""

import itertools
import warnings

import numpy as np
import pytest

import retrograde as rg
from retrograde import linalg
from retrograde.errors import ArgumentError, LinAlgError, ShapeError
from retrograde.testing import check_gradients

RNG = np.random.default_rng(0)
TALL, WIDE, SQUARE = RNG.standard_normal((4, 2)), RNG.standard_normal((2, 3)), RNG.standard_normal((3, 3)) + 3 * np.eye(3)
BATCH = RNG.standard_normal((2, 3, 3)) + 3 * np.eye(3)
COMPLEX = RNG.standard_normal((3, 3)) + 1j * RNG.standard_normal((3, 3)) + 2 * np.eye(3)
WEIGHTS = RNG.standard_normal((4, 4))


def spectral(x):
    """A matrix function by eigenvalues: signs and phases of the vectors cancel."""
    values, vectors = linalg.eigh(x)
    return (vectors * rg.expand_dims(rg.sin(values), -2)) @ rg.conj(rg.matrix_transpose(vectors))


def singular(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    return (u * rg.expand_dims(rg.tanh(s), -2)) @ vh


@pytest.mark.parametrize("x", [SQUARE, BATCH, COMPLEX], ids=["real", "batch", "complex"])
def test_derivatives_of_functions_of_eigenvectors(x):
    check_gradients(spectral, x, order=2, rtol=1e-5)


@pytest.mark.parametrize("x", [SQUARE, TALL, WIDE, BATCH[:, :, :2], COMPLEX, COMPLEX[:, :2], COMPLEX[:2]],
                         ids=["square", "tall", "wide", "batch", "complex", "complex tall", "complex wide"])
def test_derivatives_of_functions_of_singular_vectors(x):
    check_gradients(singular, x, order=2, rtol=1e-5)


@pytest.mark.parametrize("function", [
    linalg.inv, linalg.det, linalg.slogdet, linalg.pinv, linalg.svdvals, linalg.eigvalsh, linalg.matrix_norm, linalg.cond,
    lambda x: linalg.solve(x, SQUARE), lambda x: linalg.cholesky(x @ rg.conj(rg.matrix_transpose(x)) + np.eye(3)),
    lambda x: linalg.qr(x)[0] @ linalg.qr(x)[1] * 2, lambda x: linalg.matrix_power(x, -2),
    linalg.adjugate, lambda x: linalg.vector_norm(x, axis=0, ord=3), lambda x: linalg.matrix_norm(x, ord="nuc"),
], ids=range(15))
def test_derivatives_of_complex_matrices(function):
    check_gradients(function, COMPLEX, order=2, rtol=1e-5)


@pytest.mark.parametrize("name", ["inv", "det", "pinv", "svdvals", "eigvalsh", "matrix_rank", "cond", "matrix_norm"])
@pytest.mark.parametrize("x", [SQUARE, BATCH, np.zeros((0, 2, 2))], ids=["matrix", "batch", "no matrix"])
def test_values_are_numpys(name, x):
    theirs = {"svdvals": lambda x: np.linalg.svd(x, compute_uv=False), "matrix_norm": np.linalg.matrix_norm,
              "eigvalsh": lambda x: np.linalg.eigvalsh((x + x.mT) / 2)}.get(name) or getattr(np.linalg, name)
    np.testing.assert_allclose(getattr(linalg, name)(rg.tensor(x)).data, theirs(x), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", [None, 2, 1, 0, 3.5, -1, np.inf, -np.inf])
def test_norms_of_vectors_are_numpys(order):
    x = RNG.standard_normal((3, 4))
    found = linalg.norm(rg.tensor(x), order, axis=1, keepdims=True)
    np.testing.assert_allclose(found.data, np.linalg.norm(x, order, axis=1, keepdims=True), rtol=1e-12)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_norms_of_matrices_are_numpys(order):
    x = RNG.standard_normal((2, 3, 4))
    found = linalg.norm(rg.tensor(x), order, axis=(0, 2))
    np.testing.assert_allclose(found.data, np.linalg.norm(x, order, axis=(0, 2)), rtol=1e-12)


def test_a_norm_at_zero_has_gradient_zero():
    x = rg.zeros(3, requires_grad=True)
    for order in (1, 2, 3, np.inf):
        x.grad = None
        linalg.vector_norm(x, ord=order).backward()
        assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_the_gradient_of_the_determinant_of_a_singular_matrix_is_its_adjugate():
    x = rg.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [0.0, 1.0, 5.0]], dtype=rg.float64, requires_grad=True)
    linalg.det(x).backward()
    minors = np.array([[14, -10, 2], [-7, 5, -1], [0, 0, 0]])
    np.testing.assert_allclose(x.grad.data, minors, atol=1e-12)


def _of_rank(rank):
    rng = np.random.default_rng(rank)
    return rng.integers(-3, 4, (4, rank)).astype(float) @ rng.integers(-3, 4, (rank, 4))


def _with_equal_columns():
    x = np.random.default_rng(5).integers(-3, 4, (4, 4)).astype(float)
    x[:, 1] = x[:, 0]
    return x


def _cofactor(x, rows, columns):
    """What is left of the determinant, which is linear in each element, without some rows and columns."""
    return np.linalg.det(np.delete(np.delete(x, rows, 0), columns, 1))


@pytest.mark.parametrize("x", [_of_rank(4), _of_rank(3), _of_rank(2), _of_rank(1), np.zeros((4, 4)), _with_equal_columns()])
@pytest.mark.parametrize("make", [lambda f: f, rg.jit])
def test_the_determinant_of_a_matrix_of_any_rank_has_first_and_second_derivatives(x, make):
    places, signs = range(4), (-1.0) ** np.add.outer(np.arange(4), np.arange(4))
    first = [[signs[i, j] * _cofactor(x, [i], [j]) for j in places] for i in places]
    np.testing.assert_allclose(make(rg.grad(linalg.det))(x), first, rtol=1e-12, atol=1e-11)
    second = np.zeros((4, 4, 4, 4))
    for i, j, k, m in itertools.product(places, places, places, places):
        if i != k and j != m:
            turned = -1.0 if (i < k) != (j < m) else 1.0
            second[i, j, k, m] = turned * signs[i, j] * signs[k, m] * _cofactor(x, [i, k], [j, m])
    np.testing.assert_allclose(make(rg.hessian(linalg.det))(x), second, rtol=1e-12, atol=1e-11)


def test_singular_matrices_of_a_batch_leave_the_gradients_of_the_others_as_they_are():
    rng = np.random.default_rng(0)
    x = np.stack([_of_rank(3), rng.standard_normal((4, 4)), np.zeros((4, 4)), rng.standard_normal((4, 4))])
    gradient = rg.grad(lambda x: linalg.det(x).sum())
    for found in (gradient(x), rg.jit(gradient)(x)):
        np.testing.assert_allclose(found, [rg.grad(linalg.det)(matrix) for matrix in x], rtol=1e-12, atol=1e-12)


def test_determinants_have_a_third_derivative():
    x = np.random.default_rng(1).standard_normal((3, 3)) + 2 * np.eye(3)
    check_gradients(linalg.det, x, order=3)


def test_equal_eigenvalues_have_gradients_as_a_group():
    x = rg.tensor(np.diag([1.0, 1.0, 2.0]), requires_grad=True)
    values = linalg.eigh(x).eigenvalues
    (values[:2].sum() + values[2] ** 2).backward()
    np.testing.assert_allclose(x.grad.data, np.diag([1.0, 1.0, 4.0]), atol=1e-12)


def test_a_gradient_within_a_group_of_equal_eigenvalues_is_left_out_with_a_warning():
    x = rg.tensor(np.diag([1.0, 1.0, 2.0]), requires_grad=True)
    _, vectors = linalg.eigh(x)
    with pytest.warns(RuntimeWarning, match="equal eigenvalues"):
        (vectors * WEIGHTS[:3, :3]).sum().backward()
    assert np.isfinite(x.grad.data).all()


def test_the_projection_on_a_group_of_equal_eigenvalues_has_its_gradient():
    def projection(x):
        vectors = linalg.eigh(x)[1][:, :2]
        return vectors @ vectors.T

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = rg.tensor(np.diag([1.0, 1.0, 2.0]), requires_grad=True)
        (projection(x) * WEIGHTS[:3, :3]).sum().backward()
    numeric, step = np.zeros((3, 3)), 1e-6
    for i, j in np.ndindex(3, 3):
        shift = np.zeros((3, 3))
        shift[i, j] = step
        up, down = (projection(np.diag([1.0, 1.0, 2.0]) + s * shift) for s in (1, -1))
        numeric[i, j] = ((up - down) * WEIGHTS[:3, :3]).sum() / (2 * step)
    np.testing.assert_allclose(x.grad.data, numeric, atol=1e-8)


def general(x):
    """A matrix function by eigenvalues of any matrix: lengths and phases of the vectors cancel."""
    values, vectors = linalg.eig(x)
    return vectors @ (rg.expand_dims(rg.exp(values), -1) * linalg.inv(vectors))


@pytest.mark.parametrize("x", [SQUARE, BATCH, COMPLEX], ids=["real", "batch", "complex"])
def test_the_exponential_by_eigenvalues_has_the_derivatives_of_the_exponential(x):
    check_gradients(general, x / 2, order=2, rtol=1e-5)
    check_gradients(linalg.matrix_exp, x / 2, order=2, rtol=1e-5)
    check_gradients(linalg.eigvals, x[..., :2, :2], order=2, rtol=1e-5)
    np.testing.assert_allclose(general(x).data if isinstance(general(x), rg.Tensor) else general(x), linalg.matrix_exp(x), rtol=1e-9, atol=1e-9)


def test_a_length_of_eigenvectors_that_is_fixed_has_no_derivative():
    x = rg.tensor(SQUARE, requires_grad=True)
    vectors = linalg.eig(x).eigenvectors
    (vectors.real**2 + vectors.imag**2).sum().backward()
    np.testing.assert_allclose(x.grad.data, np.zeros((3, 3)), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 0.3, 4.0, 60.0])
def test_the_exponential_of_matrices_is_scipys(scale):
    scipy = pytest.importorskip("scipy.linalg")
    x = BATCH * scale / 4
    np.testing.assert_allclose(linalg.matrix_exp(x), scipy.expm(x), rtol=1e-11, atol=1e-11 * np.abs(scipy.expm(x)).max())
    np.testing.assert_allclose(linalg.matrix_exp(x.astype(np.float32)), scipy.expm(x), rtol=2e-4 * max(scale, 1), atol=1e-4)


_STEPS = np.diag([-1.0, -2.0, -2.0 - 1e-9, 0.5]) + np.diag([1e5, 1e5, 1e5], 1)
_FAR_FROM_NORMAL = {
    "steep": np.array([[1.0, 3e10], [0.0, -1.0]]), "lower": np.array([[-0.5, 0.0], [1e10, -3.0]]), "steps": _STEPS,
    "stiff": np.array([[-1e6, 1e6], [0.0, -1.0]]), "nilpotent": np.diag([1e8, 1e8, 1e-8], 1), "complex": _STEPS * (1 + 0.5j),
    "turning": np.array([[0.0, 1e3], [-1e3, 0.0]]), "tiny": 1e-200 * SQUARE, "huge": np.array([[1.0, 1e200], [0.0, 2.0]]),
    "vanishing": np.diag([-1e300, 5.0, 700.0]),
}


def _exponential_in_many_digits(x):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60 + 2 * len(x) * int(np.log10(np.abs(x).max() + 1))):
        found = mpmath.expm(mpmath.matrix(x.tolist()), method="taylor")
        return np.array([[complex(found[i, j]) for j in range(len(x))] for i in range(len(x))])


@pytest.mark.parametrize("name", sorted(set(_FAR_FROM_NORMAL) - {"vanishing"}))
def test_the_exponential_of_a_matrix_far_from_normal_has_its_digits_and_so_has_its_derivative(name):
    x = _FAR_FROM_NORMAL[name]
    expected = _exponential_in_many_digits(x)
    np.testing.assert_allclose(linalg.matrix_exp(x), expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())
    np.testing.assert_array_equal(rg.jit(linalg.matrix_exp)(x), linalg.matrix_exp(x))
    if name != "huge":
        slope, size = np.where(x == 0, 1.0, 0.5), len(x)
        back = np.conj(x.T)
        block = np.block([[back, slope], [np.zeros_like(x), back]])
        expected = _exponential_in_many_digits(block)[:size, size:]
        gradient = rg.vjp(linalg.matrix_exp, x)[1](slope.astype(x.dtype))[0]
        np.testing.assert_allclose(gradient, expected, rtol=1e-13, atol=1e-13 * np.abs(expected).max())


def test_exponentials_in_a_stack_are_those_of_each_matrix():
    stack = np.stack([x for x in _FAR_FROM_NORMAL.values() if x.shape == (2, 2)])
    found = linalg.matrix_exp(np.stack([stack, stack[::-1]]))
    np.testing.assert_allclose(found, [[linalg.matrix_exp(x) for x in stack], [linalg.matrix_exp(x) for x in stack[::-1]]], rtol=1e-12)
    np.testing.assert_array_equal(linalg.matrix_exp(_FAR_FROM_NORMAL["vanishing"]), np.diag(np.exp([-1e300, 5.0, 700.0])))
    assert linalg.matrix_exp(np.zeros((2, 0, 0))).shape == (2, 0, 0)


@pytest.mark.parametrize("x", [SQUARE, np.triu(SQUARE) * 2, BATCH], ids=["full", "triangular", "batch"])
def test_derivatives_of_the_exponential_of_any_order_are_right_in_all_forms(x):
    def loss(x):
        return rg.sum(rg.sin(linalg.matrix_exp(x / 2)))

    check_gradients(rg.grad(loss), x, order=2, rtol=1e-5)
    hessian = rg.hessian(loss)(x)
    np.testing.assert_allclose(rg.jit(rg.hessian(loss))(x), hessian, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(rg.vmap(rg.hessian(loss))(np.stack([x, 2 * x]))[0], hessian, rtol=1e-10, atol=1e-10)


def test_the_other_triangle_does_not_count():
    y = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(linalg.solve_triangular(SQUARE, y), np.linalg.solve(np.tril(SQUARE), y))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("size", [31, 64, 150])
def test_substitution_in_blocks_solves_triangles_of_any_size(size, upper):
    rng = np.random.default_rng(size)
    x = rng.standard_normal((2, size, size)) / size + 2 * np.eye(size)
    triangle, y = (np.triu if upper else np.tril)(x), rng.standard_normal((2, size, 3))
    np.testing.assert_allclose(linalg.solve_triangular(x, y, upper), np.linalg.solve(triangle, y), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("upper", [False, True])
def test_derivatives_of_triangular_equations(upper):
    x, y = np.random.default_rng(0).standard_normal((2, 3, 3)) + 3 * np.eye(3), np.ones((3, 2))
    check_gradients(lambda x: linalg.solve_triangular(x, y, upper), x, order=2)
    check_gradients(lambda y: linalg.solve_triangular(x, y, upper), y, order=2)


def test_the_rest_of_a_wide_matrix_takes_part_in_its_qr():
    def invariant(x):
        q, r = linalg.qr(x)
        return q @ r[:, :2], q @ r[:, 2:]

    check_gradients(invariant, WIDE, order=2)


def test_qr_has_orthonormal_columns_and_a_triangle():
    for x in (TALL, WIDE, BATCH):
        q, r = linalg.qr(rg.tensor(x))
        np.testing.assert_allclose((q @ r).data, x, atol=1e-12)
        np.testing.assert_allclose((q.mT @ q).data, np.broadcast_to(np.eye(q.shape[-1]), (*x.shape[:-2], q.shape[-1], q.shape[-1])), atol=1e-12)
    assert linalg.qr(rg.tensor(TALL), mode="complete").Q.shape == (4, 4)


def test_singular_matrices_are_refused():
    for function in (linalg.inv, lambda x: linalg.solve(x, np.ones(2))):
        with pytest.raises(ArgumentError, match="singular"):
            function(rg.ones(2, 2))
    with pytest.raises(ArgumentError, match="positive definite"):
        linalg.cholesky(rg.tensor([[1.0, 0.0], [0.0, -1.0]]))


SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
WITHOUT_ANSWER = {
    "inv": linalg.inv, "solve": lambda x: linalg.solve(x, np.ones(2)), "complex solve": lambda x: linalg.solve(x * (1 + 0j), np.ones(2)).real,
    "cholesky": lambda x: linalg.cholesky(-x), "svdvals": lambda x: linalg.svdvals(x * np.nan),
    "gradient of slogdet": rg.grad(lambda x: linalg.slogdet(x)[1]), "gradient of qr": rg.grad(lambda x: linalg.qr(x * 0)[1].sum()),
}


@pytest.mark.parametrize("way", ["eager", "native", "reference"])
@pytest.mark.parametrize("name", WITHOUT_ANSWER)
def test_a_matrix_without_an_answer_is_an_error_in_a_backward_pass_and_in_compiled_code_too(name, way, monkeypatch):
    function = WITHOUT_ANSWER[name]
    if way == "native":
        pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    if way != "eager":
        monkeypatch.setenv("RETROGRADE_COMPILER", way)
        function = rg.jit(function)
    with np.errstate(all="ignore"), pytest.raises(LinAlgError, match="there is no answer"):
        function(rg.tensor(SINGULAR))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_the_shape_of_a_solution_is_known_whatever_the_dtype(dtype):
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    x, y = (rg.tensor(a).astype(dtype) for a in ([[2.0, 1.0], [0.0, 4.0]], np.ones((3, 2, 1))))
    found = rg.jit(linalg.solve)(x, y)
    assert found.dtype == x.dtype
    assert found.astype("complex64").tolist() == [[[0.375], [0.25]]] * 3


def test_infinite_matrices_have_no_answer_whoever_says_so():
    with pytest.raises(LinAlgError, match="there is no answer: array must not contain infs"):
        rg.ops.get("solve_sylvester").call(rg.tensor(SINGULAR * np.inf), rg.tensor(SINGULAR), rg.tensor(SINGULAR))


def test_shapes_that_are_no_matrices_are_refused():
    for function in (linalg.inv, linalg.det, linalg.cholesky, linalg.eigh):
        with pytest.raises(ShapeError, match="square"):
            function(rg.ones(2, 3))
    with pytest.raises(ShapeError, match="rows"):
        linalg.solve(rg.eye(3), rg.ones(2))
    with pytest.raises(ShapeError):
        linalg.svd(rg.ones(3))


def test_vectors_that_have_no_derivative_are_refused():
    x = rg.tensor(TALL, requires_grad=True)
    with pytest.raises(ArgumentError, match="full_matrices=False"):
        linalg.svd(x).U.sum().backward()
    with pytest.raises(ArgumentError, match="reduced"):
        linalg.qr(x, mode="complete").Q.sum().backward()
    linalg.svd(x).S.sum().backward()
    assert x.grad.shape == (4, 2)


def test_numpys_names_work_on_tensors():
    a, b = rg.tensor(SQUARE, requires_grad=True), rg.tensor(np.ones(3))
    np.linalg.solve(a, b).sum().backward()
    inverse = np.linalg.inv(SQUARE)
    np.testing.assert_allclose(a.grad.data, -np.outer(inverse.T @ np.ones(3), inverse @ np.ones(3)), rtol=1e-10)


def test_least_squares_and_equations_agree():
    y = RNG.standard_normal((4, 3))
    np.testing.assert_allclose(linalg.lstsq(rg.tensor(TALL), rg.tensor(y)).data, np.linalg.lstsq(TALL, y)[0], atol=1e-12)


def test_the_root_of_a_real_matrix_may_be_complex_and_its_gradient_is_real():
    pytest.importorskip("scipy")
    x, weights = np.array([[-1.0, 2.0], [0.3, -3.0]]), np.random.default_rng(0).normal(size=(2, 2, 2))

    def weighted(x):
        root = rg.sqrtm(x)
        return rg.sum(rg.real(root) * weights[0] + rg.imag(root) * weights[1])

    np.testing.assert_allclose(np.linalg.matrix_power(rg.sqrtm(rg.tensor(x)).numpy(), 2), x, atol=1e-12)
    found, steps = rg.grad(weighted)(x), 1e-6 * np.eye(4).reshape(4, 2, 2)
    wanted = [(float(weighted(rg.tensor(x + e))) - float(weighted(rg.tensor(x - e)))) / 2e-6 for e in steps]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found.ravel(), wanted, rtol=1e-7)
    np.testing.assert_allclose(rg.jit(rg.sqrtm)(rg.tensor(x + 0j)), rg.sqrtm(rg.tensor(x)))
    for function in (rg.sqrtm, rg.grad(weighted)):
        for transformed in (rg.jit(function), lambda x, function=function: rg.vmap(function)(x[None])):
            with pytest.raises(rg.errors.DTypeError, match="complex numbers for real ones"):
                transformed(rg.tensor(x))


@pytest.mark.parametrize("transform", [lambda f: f, rg.jit], ids=["eager", "jit"])
def test_an_einsum_over_an_axis_of_length_0_has_an_empty_gradient(transform):
    for subscripts, shapes in (("ij->", [(3, 0)]), ("ij->i", [(3, 0)]), ("ij,jk->ik", [(3, 0), (0, 2)]), ("ij,ij->", [(3, 0), (3, 1)])):
        operands = [np.ones(shape) for shape in shapes]
        value = lambda *xs, s=subscripts: rg.sum(rg.einsum(s, *xs))
        assert float(transform(value)(*operands)) == 0
        found = transform(rg.grad(value, argnums=tuple(range(len(shapes)))))(*operands)
        assert [g.shape for g in found] == shapes and not any(np.any(np.asarray(g)) for g in found)


def test_a_compiled_determinant_that_fits_neither_overflows_nor_vanishes_on_the_way():
    determinant, slope = rg.jit(linalg.det), rg.jit(rg.grad(linalg.det))
    for sizes, expected in (((1e200, 1e200, 1e-300), 1e100), ((1e-200, 1e-200, 1e300), 1e-100), ((1e-160, 1e150, -3.0), -3e-10)):
        x = np.diag(sizes)
        np.testing.assert_allclose(determinant(x), expected, rtol=1e-12)
        cofactors = np.array([sizes[1] * sizes[2], sizes[0] * sizes[2], sizes[0] * sizes[1]])
        fits = np.isfinite(cofactors) & (cofactors != 0)
        np.testing.assert_allclose(np.diag(slope(x))[fits], cofactors[fits], rtol=1e-12)
    assert determinant(np.diag([0.0, 1e300, 1e300])) == 0

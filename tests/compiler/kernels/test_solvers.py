"""solvers: linear algebra in compiled steps is made of kernels, whose values are those of LAPACK in float64 to rounding."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import linalg
from retrograde.errors import ArgumentError

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from retrograde.compiler.backends.cpu.codegen import linalg as code
from retrograde.compiler.backends.cpu.codegen.linalg.spec import Spec

#: Each case is traced once, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")

ROUNDING = {"float32": 3e-4, "float64": 1e-10}
#: Rows, columns on the right, and batches of the matrix and of the right-hand side: tiles of every height, strips that are whole
#: and that are not, and lanes that are all taken and that are not.
SIZES = [(1, 1, (), ()), (2, 3, (), ()), (7, 8, (), ()), (16, 16, (), ()), (17, 33, (), ()), (31, 5, (2,), (2,)), (64, 1, (), ()),
         (101, 40, (), ()), (3, 2, (29,), (29,)), (8, 1, (16,), (16,)), (4, 4, (), (21,)), (5, 2, (3, 4), (3, 1)), (9, 3, (2, 3), (3,))]


def kernels_of(step):
    return [kernel.kind for kernel in step.explain().kernels]


def compiled(function, *arrays):
    """What a jitted function gives; nothing in it may be a library call."""
    step = rg.jit(function)
    found = step(*map(rg.tensor, arrays))
    assert "library" not in kernels_of(step)
    return np.asarray(found)


def close(found, wanted, dtype):
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=ROUNDING[dtype], atol=ROUNDING[dtype] * max(1, np.abs(wanted).max()))


def drawn(rows, batch, dtype, seed=0):
    """Matrices far from singular whose rows are in no order, so that pivots have to be looked for."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((*batch, rows, rows)) / (3 * np.sqrt(rows)) + np.eye(rows)
    return x[..., rng.permutation(rows), :].astype(dtype)


def definite(rows, batch, dtype):
    x = drawn(rows, batch, "float64")
    return (x @ x.mT + np.eye(rows)).astype(dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(("rows", "columns", "batch", "of_y"), SIZES)
def test_factors_and_triangular_equations(rows, columns, batch, of_y, dtype):
    x, y = definite(rows, batch, dtype), np.random.default_rng(1).standard_normal((*of_y, rows, columns)).astype(dtype)
    for upper in (False, True):
        factor = compiled(lambda x, upper=upper: linalg.cholesky(x, upper=upper), x)
        close(factor, np.linalg.cholesky(x.astype("float64"), upper=upper), dtype)
        wide = factor.astype("float64")
        found = compiled(lambda x, y, upper=upper: linalg.solve_triangular(x, y, upper=upper), factor, y)
        close(found, np.linalg.solve(wide, y), dtype)
        found = compiled(lambda x, y, upper=upper: linalg.solve_triangular(rg.matrix_transpose(x), y, upper=not upper), factor, y)
        close(found, np.linalg.solve(wide.mT, y), dtype)
        turned = np.ascontiguousarray(y.mT)
        found = compiled(lambda x, y, upper=upper: linalg.solve_triangular(x, rg.matrix_transpose(y), upper=upper), factor, turned)
        close(found, np.linalg.solve(wide, y), dtype)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(("rows", "columns", "batch", "of_y"), SIZES)
def test_equations_inverses_and_determinants(rows, columns, batch, of_y, dtype):
    x, y = drawn(rows, batch, dtype), np.random.default_rng(1).standard_normal((*of_y, rows, columns)).astype(dtype)
    wide = x.astype("float64")
    close(compiled(linalg.solve, x, y), np.linalg.solve(wide, y), dtype)
    close(compiled(lambda x, y: linalg.solve(rg.matrix_transpose(x), y), x, y), np.linalg.solve(wide.mT, y), dtype)
    close(compiled(linalg.inv, x), np.linalg.inv(wide), dtype)
    close(compiled(linalg.det, x), np.linalg.det(wide), dtype)
    close(compiled(lambda x: linalg.slogdet(x)[0], x), np.linalg.slogdet(wide)[0], dtype)
    close(compiled(lambda x: linalg.slogdet(x)[1], x), np.linalg.slogdet(wide)[1], dtype)


@pytest.mark.parametrize("upper", [False, True])
def test_what_is_on_the_other_side_of_a_triangle_is_not_read(upper):
    x = definite(20, (), "float64")
    nothing = np.where(np.tri(20, k=0 if upper else -1).T if not upper else np.tri(20, k=-1), np.nan, x)
    step = lambda x: linalg.solve_triangular(x, np.ones((20, 3)), upper=upper)
    np.testing.assert_array_equal(compiled(step, nothing), compiled(step, x))


@pytest.mark.parametrize("rows", [3, 20])
def test_only_the_symmetric_part_is_factorized(rows):
    x, noise = definite(rows, (9,), "float64"), np.random.default_rng(2).standard_normal((9, rows, rows))
    np.testing.assert_allclose(compiled(linalg.cholesky, x + noise - noise.mT), np.linalg.cholesky(x), rtol=1e-10, atol=1e-12)


def gradient_of_factor(x, g):
    """By products and equations of whole matrices in float64."""
    factor = np.linalg.cholesky(x.astype("float64"))
    inner = factor.mT @ np.tril(g)
    half = np.tril(inner) * (1 - np.eye(x.shape[-1]) / 2)
    inverse = np.linalg.inv(factor)
    found = inverse.mT @ half @ inverse
    return (found + found.mT) / 2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize(("rows", "batch"), [(n, ()) for n in (1, 2, 5, 8, 15, 16, 17, 31, 33, 48, 101)] + [(3, (29,)), (8, (9,)), (20, (2, 3))])
def test_gradients_of_factors(rows, batch, dtype):
    x, g = definite(rows, batch, dtype), np.random.default_rng(7).standard_normal((*batch, rows, rows)).astype(dtype)
    wanted = gradient_of_factor(x, g)
    close(compiled(rg.grad(lambda x, g: rg.sum(linalg.cholesky(x) * g)), x, g), wanted, dtype)
    found = compiled(rg.grad(lambda x, g: rg.sum(linalg.cholesky(x, upper=True) * rg.matrix_transpose(g))), x, g)
    close(found, wanted, dtype)


def test_vectors_on_the_right():
    x, y = drawn(12, (), "float64"), np.arange(12.0)
    close(compiled(linalg.solve, x, y), np.linalg.solve(x, y), "float64")
    lower = np.tril(x) + 2 * np.eye(12)
    close(compiled(linalg.solve_triangular, lower, y), np.linalg.solve(lower, y), "float64")
    for rows, batch in ((12, (2,)), (4, (9,))):
        many = drawn(rows, batch, "float64")
        close(compiled(linalg.solve, many, y[:rows]), np.linalg.solve(many, y[:rows]), "float64")
        lower = np.tril(many) + 2 * np.eye(rows)
        close(compiled(linalg.solve_triangular, lower, y[:rows]), np.linalg.solve(lower, y[:rows]), "float64")


def test_parts_of_arrays_are_read_where_they_are():
    x, y = np.random.default_rng(3).standard_normal((4, 30, 50)), np.random.default_rng(4).standard_normal((40, 4, 20))
    step = lambda x, y: linalg.solve(x[::2, 5:25, 3:43:2] + 0, y[::2, ::2].swapaxes(0, 1))
    part = lambda x, y: linalg.solve(x[::2, 5:25, 3:43:2], y[::2, ::2].swapaxes(0, 1))
    wanted = np.linalg.solve(x[::2, 5:25, 3:43:2], y[::2, ::2].swapaxes(0, 1))
    for function in (step, part):
        np.testing.assert_allclose(compiled(function, x, y), wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("batch", [(), (40,)])
def test_gradients_are_the_eager_ones(batch):
    x, y = definite(6, batch, "float64"), np.random.default_rng(5).standard_normal((*batch, 6, 2))

    def loss(x, y):
        factor = linalg.cholesky(x)
        half = linalg.solve_triangular(factor, y)
        return rg.sum(rg.sin(half)) + rg.sum(linalg.solve(x, y) ** 2) + rg.sum(linalg.slogdet(x)[1]) + rg.sum(linalg.inv(x)[..., 0])

    slope = rg.grad(loss, argnums=(0, 1))
    step = rg.jit(slope)
    for found, wanted in zip(step(rg.tensor(x), rg.tensor(y)), slope(rg.tensor(x), rg.tensor(y)), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-9, atol=1e-11)
    assert "library" not in kernels_of(step)


def test_a_matrix_is_factorized_once_for_all_that_is_asked_of_it():
    def loss(x, y):
        return rg.sum(linalg.solve(x, y) ** 2) + linalg.slogdet(x)[1] + rg.sum(linalg.inv(x)) + linalg.det(x)

    step = rg.jit(lambda x, y: (loss(x, y), rg.grad(lambda x: loss(x, y) - linalg.det(x))(x)))
    step(rg.tensor(drawn(10, (), "float64")), rg.tensor(np.ones((10, 2))))
    assert [op for kernel in step.explain().kernels for op in kernel.ops].count("lu_factor") == 1


@pytest.mark.parametrize("rows", [4, 37])
@pytest.mark.parametrize("batch", [(), (19,)])
def test_the_greatest_number_of_a_column_is_the_pivot(rows, batch):
    x = np.random.default_rng(6).standard_normal((*batch, rows, rows))
    x[..., 0, 0] = 0
    x[..., 1, 1] = 1e-14
    np.testing.assert_allclose(compiled(linalg.inv, x) @ x, np.broadcast_to(np.eye(rows), x.shape), atol=1e-8)


@pytest.mark.parametrize("batch", [(), (19,)])
def test_determinants_of_singular_matrices_are_zero(batch):
    x = drawn(5, batch, "float64")
    x[..., 2, :] = 0
    assert not np.any(compiled(linalg.det, x))
    assert np.all(compiled(lambda x: linalg.slogdet(x)[1], x) == -np.inf)


FAILING = {
    "cholesky": (linalg.cholesky, "not positive definite"), "solve_triangular": (lambda x: linalg.solve_triangular(x, x), "singular"),
    "inv": (linalg.inv, "singular"), "solve": (lambda x: linalg.solve(x, x), "singular"),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("shape", [(3, 3), (20, 20), (33, 3, 3)])
def test_where_there_is_no_answer_the_error_is_the_eager_one_and_nothing_is_written(name, shape):
    function, message = FAILING[name]
    good, count = np.broadcast_to(np.eye(shape[-1]) * 2, shape).copy(), rg.tensor(0.0)
    bad = good.copy()
    bad[..., -1, -1] = 0

    @rg.jit
    def step(x):
        found = function(x)
        count[...] = count + 1
        return found

    step(rg.tensor(good))
    for run in (function, step):
        with pytest.raises(ArgumentError, match=message):
            run(rg.tensor(bad))
    assert float(count) == 1
    np.testing.assert_allclose(np.asarray(step(rg.tensor(good))), np.asarray(function(rg.tensor(good))))
    assert float(count) == 2


def test_a_matrix_with_nan_is_not_definite():
    with pytest.raises(ArgumentError, match="not positive definite"):
        rg.jit(linalg.cholesky)(rg.tensor([[np.nan, 0.0], [0.0, 1.0]]))


def test_equations_in_a_loop_are_native_steps_of_it():
    xs = definite(4, (12,), "float64")

    def follow(state, x):
        state = linalg.solve(x, state) + linalg.solve_triangular(linalg.cholesky(x), state)
        return state, rg.sum(state)

    step = rg.jit(lambda start, xs: rg.scan(follow, start, xs))
    start = rg.tensor(np.ones((4, 2)))
    for found, wanted in zip(step(start, rg.tensor(xs)), rg.scan(follow, start, rg.tensor(xs)), strict=True):
        np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=1e-10)
    assert kernels_of(step) == ["repeat"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("dtype", "lanes", "height", "is_fused"), [("float32", 16, 8, True), ("float64", 2, 8, False)])
@pytest.mark.parametrize(("rows", "batch"), [(5, ()), (33, ()), (70, ()), (3, (35,))])
def test_kernels_for_other_vectors_give_the_same_values(rows, batch, dtype, lanes, height, is_fused, monkeypatch):
    monkeypatch.setattr(code, "spec_for", lambda *_: Spec(dtype, lanes, height, is_fused))
    x, y, g = definite(rows, batch, dtype), np.ones((*batch, rows, 19), dtype), np.ones((*batch, rows, rows), dtype)
    z = drawn(rows, batch, dtype)
    close(compiled(linalg.cholesky, x), np.linalg.cholesky(x.astype("float64")), dtype)
    close(compiled(linalg.solve, z, y), np.linalg.solve(z.astype("float64"), y), dtype)
    close(compiled(linalg.inv, z), np.linalg.inv(z.astype("float64")), dtype)
    close(compiled(rg.grad(lambda x, g: rg.sum(linalg.cholesky(x) * g)), x, g), gradient_of_factor(x, g), dtype)


def test_values_are_the_same_for_any_number_of_threads():
    x, y, found = definite(70, (6,), "float32"), np.ones((6, 70, 90), "float32"), []
    for threads in (1, 2):
        before = rg.get_num_threads()
        rg.set_num_threads(threads)
        try:
            found.append(compiled(lambda x, y: linalg.solve(x, linalg.solve_triangular(linalg.cholesky(x), y)), x, y))
        finally:
            rg.set_num_threads(before)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.complex64, rg.int64])
def test_sign_and_logarithm_of_the_determinant_of_other_dtypes_are_those_of_eager_code(dtype):
    x = rg.tensor(np.array([[2.0, 1.0], [1.0, 3.0]])).astype(dtype)
    for found, wanted in zip(rg.jit(rg.linalg.slogdet)(x), rg.linalg.slogdet(x), strict=True):
        assert found.dtype == wanted.dtype
        assert found.tolist() == wanted.tolist()

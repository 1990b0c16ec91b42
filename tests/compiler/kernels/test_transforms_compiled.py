"""transforms: Fourier transforms in compiled code are kernels, whose values are NumPy's to rounding."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends import chosen_name
from together import on_threads

#: Each case is traced once, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")

ROUNDING = {"float32": 2e-6, "float64": 1e-14}
#: Shapes and axes: powers of two, every factor, lines that fill whole vectors and that do not, rows and columns of memory.
NATIVE = [((16, 16), 1), ((17, 64), 1), ((33, 30), 1), ((40, 42), 1), ((20, 22), 1), ((16, 26), 1), ((2, 9, 120), 2), ((16, 1024), 1),
          ((8, 24), 0), ((2, 10, 33), 1), ((2, 4, 17), 1), ((3, 2, 40), 1), ((2, 6, 3, 8), 1), ((1, 210, 16), 1)]
#: A few lines, or short ones: rows and columns, one vector or less, every factor, a last vector that has some places twice.
FEW = [((5, 16), 1), ((2, 16, 7), 1), ((128,), 0), ((3, 26), 1), ((20, 4), 1), ((6, 3), 0), ((1, 10), 1), ((2, 12, 2), 1), ((4,), 0),
       ((2, 14), 1), ((300,), 0), ((22,), 0), ((338, 2), 0), ((2002,), 0), ((4096,), 0)]
#: A large prime.
CALLED = [((16, 34), 1), ((34,), 0)]
NAMES = ["fft", "ifft", "rfft", "irfft"]


def drawn(name, shape, axis, dtype):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape)
    if name == "rfft":
        return x.astype(dtype)
    if name == "irfft":
        shape = (*shape[:axis], shape[axis] // 2 + 1, *shape[axis + 1 :])
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return x.astype(np.result_type(dtype, 1j))


def compiled(function, x):
    step = rg.jit(function)
    return np.asarray(step(rg.tensor(x))), {kernel.kind for kernel in step.explain().kernels}


def check(name, shape, axis, dtype, norm="backward"):
    """The kinds of kernels of a transform, whose values are NumPy's in double precision."""
    x = drawn(name, shape, axis, dtype)
    found, kinds = compiled(lambda x: getattr(rg.fft, name)(x, axis=axis, norm=norm), x)
    expected = getattr(np.fft, name)(x.astype(np.result_type(x.dtype, np.float64)), axis=axis, norm=norm)
    assert found.dtype == (dtype if name == "irfft" else np.result_type(dtype, 1j))
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING[dtype] * np.abs(expected).max())
    return kinds


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("shape", "axis"), [*NATIVE, *FEW, *CALLED])
@pytest.mark.parametrize("name", NAMES)
def test_transforms_are_numpys(name, shape, axis):
    for dtype in ROUNDING:
        assert check(name, shape, axis, dtype) == {"library" if (shape, axis) in CALLED else "transform"}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("size", [2, 3, 5, 7, 9, 11, 13, 15, 21, 25, 27, 33, 35, 45, 49, 63, 77, 105, 121, 169, 243, 343, 1001, 2401])
def test_a_line_of_an_odd_length_or_of_two_numbers_is_a_kernel_where_numbers_are_complex(size):
    for name, of_real in (("fft", "rfft"), ("ifft", "irfft")):
        assert check(name, (size,), 0, "float64") == {"transform"}
        x = drawn(of_real, (3, size), 1, "float64")
        found, kinds = compiled(lambda x, of_real=of_real: getattr(rg.fft, of_real)(x, n=size), x)
        np.testing.assert_allclose(found, getattr(np.fft, of_real)(x, n=size), rtol=0, atol=1e-13 * size)
        assert kinds == {"library"}


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-18, reason="long doubles are no wider than doubles here")
@pytest.mark.parametrize("size", [16, 96, 128, 360, 1024, 1155])
def test_single_lines_are_as_exact_as_numpys(size):
    x = drawn("fft", (size,), 0, "float64")
    exact = np.fft.fft(x.astype(np.clongdouble))
    found, _ = compiled(rg.fft.fft, x)
    error, numpys = (np.sqrt((np.abs(z - exact) ** 2).mean() / (np.abs(exact) ** 2).mean()) for z in (found, np.fft.fft(x)))
    assert error < 2 * max(numpys, 1e-16)


def test_equations_solved_by_transforms_of_one_line_are_one_compiled_loop():
    number = np.fft.fftfreq(32, 1 / 32) / 2
    turn, slope, start = np.exp(5e-4j * number**3), -3e-3j * number, np.fft.fft(np.cos(np.arange(32) / 16 * np.pi))

    def change(v, fft):
        return slope * fft.fft(fft.ifft(v).real ** 2)

    def step(v, fft):
        middle = turn * v + change(v, fft) / 2
        return turn * (turn * v + change(middle, fft))

    solve = rg.jit(lambda v: rg.scan(lambda v, _: (step(v, rg.fft), None), v, None, length=20)[0])
    found, expected = solve(rg.tensor(start)), start
    for _ in range(20):
        expected = step(expected, np.fft)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(start).max())
    assert "library" not in {kernel.kind for kernel in solve.explain().kernels}
    real = lambda v: (rg.fft.ifft(rg.scan(lambda v, _: (step(v, rg.fft), None), rg.fft.fft(v), None, length=3)[0]).real ** 3).sum()
    v = np.cos(np.arange(32) / 16 * np.pi)
    np.testing.assert_allclose(rg.jit(rg.grad(real))(v), rg.grad(real)(v), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("norm", ["forward", "ortho", None])
@pytest.mark.parametrize("name", NAMES)
def test_transforms_divide_where_they_are_told_to(name, norm):
    assert check(name, (16, 24), 1, "float64", norm) == {"transform"}


@pytest.mark.parametrize("name", ["fft2", "ifftn", "rfft2", "rfftn", "irfft2"])
def test_axis_after_axis(name):
    x = drawn("rfft" if name[0] == "r" else "fft", (16, 6, 16), 1, "float64")
    found, kinds = compiled(getattr(rg.fft, name), x)
    np.testing.assert_allclose(found, getattr(np.fft, name)(x), rtol=0, atol=1e-13 * np.abs(x).sum())
    assert "library" not in kinds


def test_a_real_line_of_an_odd_length_is_transformed_by_numpy():
    found, kinds = compiled(rg.fft.rfft, x := drawn("rfft", (20, 15), 1, "float64"))
    np.testing.assert_allclose(found, np.fft.rfft(x), rtol=0, atol=1e-13)
    assert kinds == {"library"}


def test_imaginary_parts_that_a_real_result_has_no_place_for_do_not_count():
    x = drawn("irfft", (16, 8), 1, "float64")
    x[:, 0] = x[:, -1] = 3j
    np.testing.assert_allclose(compiled(rg.fft.irfft, x)[0], np.fft.irfft(x), rtol=0, atol=1e-14)


def test_a_line_with_an_unknown_number_leaves_others_alone():
    x = drawn("fft", (20, 16), 1, "float64")
    x[3, 5] = np.nan
    found = compiled(rg.fft.fft, x)[0]
    assert np.isnan(found).any(1).tolist() == [line == 3 for line in range(20)]


def test_gradients_and_loops():
    x, weight = drawn("rfft", (20, 12), 1, "float64"), drawn("irfft", (20, 12), 1, "float64")

    def loss(x, weight):
        _, kept = rg.scan(lambda state, _: (state + 1, rg.fft.irfft(rg.fft.rfft(x * state) * weight, 12)), rg.tensor(1.0, dtype=rg.float64),
                          None, length=3)
        return rg.sin(kept).sum()

    slopes = rg.grad(loss, (0, 1))
    step = rg.jit(slopes)
    step(x, weight)
    if chosen_name() == "native":  # else loops run from Python
        assert "library" not in {kernel.kind for kernel in step.explain().kernels}
    for found, wanted in zip(step(x, weight), slopes(x, weight), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-10)


def test_bits_are_equal_for_any_number_of_threads():
    x = drawn("fft", (300, 40, 34), 1, "float32")
    found = on_threads(lambda: compiled(lambda x: rg.fft.irfft(rg.fft.fft(x, axis=1), 60, axis=1), x)[0].tobytes())
    assert found[0] == found[1] == found[2]

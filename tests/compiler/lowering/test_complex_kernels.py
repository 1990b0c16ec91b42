"""complexes: complex numbers in compiled code are pairs of real ones, and their values are the eager ones."""

import numpy as np
import pytest

import retrograde as rg
from graphs import leaf, names, traced
from retrograde.compiler.backends import chosen_name
from retrograde.compiler.passes.lower import lower
from retrograde.nn import functional

#: Each case is traced once, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning", "ignore::RuntimeWarning")

ROUNDING = {"complex64": 2e-5, "complex128": 1e-12}


def drawn(*shape, seed=0, dtype="complex128"):
    rng = np.random.default_rng(seed)
    return rg.tensor((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype))


def listed(found):
    return [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]


def kinds_of(step):
    kernels = [*step.explain().kernels]
    return {kernel.kind for kernel in (*kernels, *[inner for kernel in kernels for inner in kernel.inside])}


def check(function, *operands, calls=False):
    """Compiled code has what eager code has, without a library call, unless there are to be `calls`."""
    step = rg.jit(function)
    for found, wanted in zip(listed(step(*operands)), listed(function(*operands)), strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        rounding = 1e-4 if wanted.dtype.itemsize == 4 or wanted.dtype == "complex64" else 1e-11
        np.testing.assert_allclose(found, wanted, rtol=rounding, atol=rounding * max(1, np.abs(wanted).max(initial=0)))
    if chosen_name() == "native":  # else loops run from Python
        assert ("library" in kinds_of(step)) is calls


FUNCTIONS = ["abs", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
             "square", "reciprocal", "negative", "conj", "real", "imag", "sign", "angle", "isnan", "isinf", "isfinite", "logical_not"]
PAIRS = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y, "**": lambda x, y: x**y,
    "==": lambda x, y: x == y.conj(), "!=": lambda x, y: x != x * 1, "where": lambda x, y: rg.where(x.real > 0, x, y),
    "real left": lambda x, y: x.real * y / (y.imag + 2j), "real right": lambda x, y: (x - y.real) / y.imag,
    "numbers": lambda x, y: (2 - x) * 1j + y / 3 - (1 + 2j) * x, "parts": lambda x, y: rg.complex(x.imag, y.real),
    "powers": lambda x, y: x**2 + y**3 - x**-1 + y**0 + x**0.5 + y**1j, "casts": lambda x, y: x.real.astype(x.dtype) * y}


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype):
    check(getattr(rg, name), drawn(5, 37, dtype=dtype))


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two(name, dtype):
    check(PAIRS[name], drawn(5, 37, dtype=dtype), drawn(5, 37, seed=1, dtype=dtype))
    check(PAIRS[name], drawn(3, 1, 4, dtype=dtype), drawn(5, 1, seed=1, dtype=dtype))


#: Numbers of which squares overflow or vanish, zeros of either sign, and points next to where functions bend.
FINITE = np.array([complex(a, b) for a in (0.0, -0.0, 1.0, -2.0, 1e300, -1e300, 1e-300, 0.3, 1 + 1e-9) for b in (0.0, -0.0, 1.0, -2.0, 1e300, 1e-300)])
TOUCHING = np.array([complex(a, b) for a in (0.0, 1.0, -2.0, np.inf, -np.inf, np.nan) for b in (0.0, -0.0, 1.0, -3.0, np.inf, np.nan)])


def assert_parts_close(found, wanted):
    found, wanted = (np.stack([x.real, x.imag]) for x in (found, wanted))
    size = np.hypot(*np.nan_to_num(wanted))
    is_close = (found == wanted) | np.isnan(found) & np.isnan(wanted) | (np.abs(found - wanted) <= 1e-14 * size)
    assert is_close.all(), (found[~is_close], wanted[~is_close])


@pytest.mark.parametrize("name", ["abs", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "sinh", "cosh", "tanh", "reciprocal", "sign"])
def test_what_is_finite_overflows_no_earlier_than_in_numpy(name):
    function = getattr(rg, name)
    assert_parts_close(np.asarray(rg.jit(function)(rg.tensor(FINITE))), np.asarray(function(rg.tensor(FINITE))))


def test_quotients_overflow_no_earlier_than_in_numpy():
    x, y = [part.ravel() for part in np.meshgrid(FINITE, FINITE)]
    assert_parts_close(np.asarray(rg.jit(lambda x, y: x / y)(rg.tensor(x), rg.tensor(y))), x / y)


@pytest.mark.parametrize("name", ["abs", "isnan", "isinf", "isfinite", "conj"])
def test_infinities_and_unknown_numbers_are_those_of_numpy(name):
    found = np.asarray(rg.jit(getattr(rg, name))(rg.tensor(TOUCHING)))
    np.testing.assert_allclose(found, np.asarray(getattr(rg, name)(rg.tensor(TOUCHING))), rtol=1e-15)


def test_infinite_parts_of_products():
    x = TOUCHING[~np.isnan(TOUCHING)]
    y = np.array([2.0 + 1j, -1 + 0.5j, 3 - 4j])[:, None]
    np.testing.assert_array_equal(np.asarray(rg.jit(lambda x, y: x * y)(rg.tensor(x), rg.tensor(y))), x * y)


def test_a_real_factor_scales_each_part_by_itself():
    x, y = rg.tensor([2.0]), rg.tensor([complex(np.inf, 1)])
    for function in (lambda x, y: x * y, lambda x, y: y * 2, lambda x, y: x.astype("complex64") * y, lambda x, y: y / (1 / x)):
        assert rg.jit(function)(x, y).item() == complex(np.inf, 2)


MOVES = {
    "slices": lambda x: x[1:, ::-1], "transpose": lambda x: x.T, "flat": lambda x: x.reshape(-1), "other shape": lambda x: x.reshape(6, 8)[1:],
    "twice": lambda x: x.reshape(2, 24).reshape(6, 8), "of columns": lambda x: x.T.reshape(4, 12), "flip": lambda x: rg.flip(x, (0, 1)),
    "roll": lambda x: rg.roll(x, 2, 1), "pad": lambda x: rg.pad(x, ((1, 0), (0, 2)), value=1 - 2j),
    "broadcast": lambda x: rg.broadcast_to(x[:1], (3, 2, 8)), "stack": lambda x: rg.stack([x, x.conj(), x.real], 1),
    "join": lambda x: rg.concatenate([x[:2], x.real, x * 1j], 0), "take": lambda x: rg.take_along_axis(x, np.array([[1], [0], [5], [2], [3], [3]]), 1),
    "sum": lambda x: (x.sum(), x.sum(0), x.sum(1, keepdims=True)), "mean": lambda x: x.mean(0), "norm": lambda x: rg.vector_norm(x, axis=1),
    "parts": lambda x: (x.real, x.imag.T, x[:, 3].imag, x[2].real.reshape(2, 4)), "as real": rg.view_as_real,
    "as complex": lambda x: rg.view_as_complex(rg.view_as_real(x) * 2), "trace": lambda x: rg.trace(x), "as it is": lambda x: (x, x[2:4])}


@pytest.mark.parametrize("name", MOVES)
def test_numbers_in_other_places(name):
    def loss(x):
        found = MOVES[name](x)
        return sum((abs(part + 0.5) ** 2 * 0.3).sum() for part in (found if isinstance(found, tuple) else (found,)))

    check(MOVES[name], drawn(6, 8))
    check(rg.grad(loss), drawn(6, 8))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize(("shape", "axis"), [((7,), 0), ((5, 19), 0), ((5, 19), 1), ((3, 4, 33), 1), ((1, 3000), 1)])
def test_running_sums_and_products(name, shape, axis):
    check(lambda x: getattr(rg, name)(x, axis=axis), drawn(*shape) / 2)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ROUNDING)
def test_recurrences(axis, dtype):
    a, x = drawn(9, 21, dtype=dtype) / 3, drawn(9, 21, seed=1, dtype=dtype)
    check(lambda a, x: rg.linear_recurrence(a, x, axis), a, x)
    check(rg.grad(lambda a, x: abs(rg.linear_recurrence(a, x, axis)).sum(), (0, 1)), a, x)


@pytest.mark.parametrize("subscripts", ["ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "ij,j->i", "i,i->", "bixy,ioxy->boxy", "hn,hnl->hl"])
def test_contractions(subscripts):
    sizes = dict(zip("bhijklnoxy", (2, 3, 4, 5, 3, 17, 6, 2, 3, 8), strict=True))
    operands = [drawn(*[sizes[c] for c in labels], seed=i) for i, labels in enumerate(subscripts.partition("->")[0].split(","))]
    check(lambda x, y: rg.einsum(subscripts, x, y), *operands)
    check(lambda x, y: rg.einsum(subscripts, x.real, y), *operands)
    check(rg.grad(lambda x, y: rg.sin(abs(rg.einsum(subscripts, x, y))).sum(), (0, 1)), *operands)


def test_products_with_constants_vectors_and_bias():
    x, y = drawn(4, 4), drawn(4, seed=1)
    half = np.full((4, 4), 0.5 + 0j)
    check(lambda x, y: (x @ y, y @ x, half @ x, x @ (half * 2j), functional.linear(x, x, y)), x, y)


def test_convolutions():
    x, weight, bias = drawn(2, 3, 7, 6), drawn(4, 3, 3, 3, seed=1), drawn(4, seed=2)
    check(lambda x, weight, bias: functional.conv2d(x, weight, bias, padding=1), x, weight, bias)
    check(lambda x, weight: functional.conv2d(x.real, weight, stride=2), x, weight)
    check(rg.grad(lambda *operands: abs(functional.conv2d(*operands)).sum(), (0, 1, 2)), x, weight, bias)


def test_transforms_are_called_on_numbers_in_memory():
    x, y = drawn(6, 17), drawn(6, 9, seed=1)  # 17 is a prime that no kernel is for
    check(lambda x, y: rg.fft.ifft(rg.fft.fft(x.reshape(17, 6), axis=0) * 2j).reshape(6, 17)[:, :9] * y, x, y, calls=True)
    check(rg.grad(lambda x, y: abs(rg.fft.irfft(rg.fft.rfft(x.real) * y, n=17) + x).sum(), (0, 1)), x, y, calls=True)
    check(lambda x: rg.asin(x) + 1, x, calls=True)


def scanned(x, start, rate, matrix):
    def body(state, x):
        state = rg.tanh(rate * state + x @ matrix)
        return state, (abs(state), state)

    last, (sizes, states) = rg.scan(body, start, x)
    return last, sizes, states


def test_loops_carry_complex_numbers_in_machine_code():
    operands = drawn(7, 3, 5), drawn(3, 5, seed=1), drawn(5, seed=2) / 2, drawn(5, 5, seed=3) / 3
    check(scanned, *operands)

    def loss(*operands):
        last, sizes, states = scanned(*operands)
        return (sizes * states.real).sum() + abs(last).sum()

    slopes = rg.grad(loss, (0, 1, 2, 3))
    check(slopes, *operands)
    check(rg.grad(lambda *operands: sum((abs(slope) ** 2).sum() for slope in slopes(*operands)), (1, 2)), *operands)


def test_loops_of_unknown_length():
    check(lambda x: rg.while_loop(lambda state: abs(state[0]).max() < 50, lambda state: (state[0] ** 2 + 0.5j, state[1] + 1), (x, rg.tensor(0))),
          drawn(4, 4) + 1)


def test_under_vmap_and_checkpoint():
    x, y = drawn(4, 5), drawn(4, 5, seed=1)
    check(rg.vmap(lambda x, y: (x * y.conj()).sum() / abs(y[0])), x, y)
    check(rg.grad(lambda x: rg.checkpoint(lambda x: abs(rg.exp(x) * x).sum(), x)), x)
    check(lambda x: rg.jvp(lambda x: rg.exp(x) * x.conj(), (x,), (x + 1,))[1], x)


def test_derivatives_of_the_second_order():
    def loss(x, y):
        z = rg.exp(x * 0.3) / (y + 3) + rg.sqrt(x + 2) * rg.log(y + 3) + rg.tanh(x * y * 0.2) + x**3
        return (abs(z) ** 1.5).sum() + rg.angle(z + 5).sum()

    x, y = drawn(3, 4), drawn(3, 4, seed=1)
    slopes = rg.grad(loss, (0, 1))
    check(slopes, x, y)
    check(rg.grad(lambda x, y: sum((abs(slope) ** 2).sum() for slope in slopes(x, y)), (0, 1)), x, y)


def test_state_is_updated_in_its_own_memory():
    state = rg.tensor(np.ones((3, 37), np.complex64))
    memory, expected = state.data, np.ones((3, 37), np.complex64)

    @rg.jit
    def step(x):
        state[...] = state * x + 1j
        return state.sum()

    @rg.jit
    def body():
        state[...] = rg.flip(state, 1) * 2
        return state.real.sum()

    for factor in (0.5, 1 + 1j):
        expected = expected * np.complex64(factor) + 1j
        assert step(rg.tensor(np.complex64(factor))).item() == pytest.approx(expected.sum(), rel=1e-5)
    body()
    assert state.data is memory
    np.testing.assert_allclose(memory, expected[:, ::-1] * 2, rtol=1e-5)
    assert kinds_of(step) == kinds_of(body) == {"loop"}


def test_passes_over_rows_of_complex_numbers_take_turns():
    def normalised(x):
        size = abs(x)
        weights = rg.exp(size - size.max(1, keepdims=True))
        return x * weights / weights.sum(1, keepdims=True)

    check(normalised, drawn(400, 130, dtype="complex64"))
    check(rg.grad(lambda x: abs(normalised(x) + 1).sum()), drawn(400, 130, dtype="complex64"))


def test_bits_are_equal_for_any_number_of_threads():
    def function(x):
        return (x * x.conj()).sum(0), x.sum(), rg.exp(x * 0.1) / x, rg.cumsum(x, 0), x @ x.T[:, :50]

    x, before, found = drawn(300, 700), rg.get_num_threads(), []
    try:
        for count in (1, 2):
            rg.set_num_threads(count)
            found.append([np.asarray(part).tobytes() for part in rg.jit(function)(x)])
    finally:
        rg.set_num_threads(before)
    assert found[0] == found[1]


def test_wide_constants_widen():
    wide = np.full(3, 1 / 3 + 0j)
    check(lambda x: (x * wide, x + np.complex128(0.1), x * 0.1j, x == wide), drawn(3, dtype="complex64"))


ONE_PART = ["real", "imag", "conj", "reciprocal", "square", "sqrt", "abs", "sign", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
            "sinh", "cosh", "tanh", "sin", "cos", "tan", "isnan", "isinf", "isfinite", "logical_not"]


@pytest.mark.parametrize("name", ONE_PART)
def test_functions_of_complex_numbers_of_which_a_part_is_known_to_be_zero(name):
    function, x = getattr(rg, name), rg.tensor([0.1, 0.7, 2.5, 31.0])
    check(lambda x: function(x.astype("complex128")), x)
    check(lambda x: function(x * 1j), x)


OF_TWO = {"add": rg.add, "subtract": rg.subtract, "multiply": rg.multiply, "divide": rg.divide, "equal": rg.equal, "not equal": rg.not_equal,
         "power": lambda x, y: x ** 3 + y, "choice": lambda x, y: rg.where(rg.real(x) > 0.5, x, y),
         "product": lambda x, y: x[None] @ y[:, None]}
OF_PARTS = {"real": lambda x: x.astype("complex128"), "imaginary": lambda x: x * 1j, "both": lambda x: rg.complex(x, x * 2.0)}


@pytest.mark.parametrize("name", OF_TWO)
@pytest.mark.parametrize("first", OF_PARTS)
@pytest.mark.parametrize("second", OF_PARTS)
def test_pairs_of_complex_numbers_of_which_parts_are_known_to_be_zero(name, first, second):
    x, y = rg.tensor([0.1, 0.7, 2.5]), rg.tensor([0.7, 0.7, -1.5])
    check(lambda x, y: OF_TWO[name](OF_PARTS[first](x), OF_PARTS[second](y)), x, y)


def test_parts_of_two_numbers_are_put_together_as_they_are_and_those_of_one_are_that_number():
    x, y = drawn(5, seed=1), drawn(5, seed=2)
    check(lambda x, y: rg.complex(rg.real(x), rg.imag(y)), x, y)
    check(lambda x, y: rg.complex(rg.imag(x), rg.real(x)) + y, x, y)
    check(lambda x: rg.complex(rg.real(x), rg.imag(x)), x)
    step = rg.jit(lambda x: rg.complex(rg.real(x), rg.imag(x)) * 2.0)
    step(x)
    assert [op for kernel in step.explain().kernels for op in kernel.ops].count("real") <= 1


@pytest.mark.parametrize("fill", [0.0, 2.0, 1.5 - 2j])
def test_what_is_padded_with_has_both_of_its_parts(fill):
    check(lambda x: rg.pad(x * 1j, 2, value=fill), rg.tensor([0.1, 0.7]))
    check(lambda x: rg.pad(x.astype("complex128"), 2, value=fill), rg.tensor([0.1, 0.7]))


def test_complex_numbers_are_true_where_a_part_is_not_zero_and_change_their_precision_by_parts():
    x = rg.tensor([0, 1, 2j, 1 + 1j, float("nan")], dtype="complex128")
    check(lambda x: (x * 1.0).astype("bool"), x)
    check(lambda x: (x * 1.0).astype("complex64"), x[:4])


ZEROS = {
    "a number": lambda z: 0.0 * z,
    "on both sides": lambda z: (-0.0 * z) * (-0.0 * z),
    "an imaginary one": lambda z: 0j * z,
    "a whole one": lambda z: z * 0,
    "computed": lambda z: rg.zeros_like(z) * z,
    "a matrix": lambda z: np.zeros((2, 2)) @ z,
    "a matrix on the right": lambda z: z @ np.zeros((2, 2), "complex128"),
}


@pytest.mark.parametrize("function", ZEROS.values(), ids=ZEROS)
def test_zero_times_what_is_not_finite_is_not_zero(function):
    z = rg.tensor(np.array([[1 + 2j, np.inf + 1j], [np.nan + 0j, 3j]]))
    with np.errstate(invalid="ignore"):
        wanted = np.isfinite(np.asarray(function(z)))
    np.testing.assert_array_equal(np.isfinite(np.asarray(rg.jit(function)(z))), wanted)


def test_a_part_that_is_known_to_be_zero_is_a_result_and_what_state_is_set_to():
    buffer = rg.tensor([1.0, 2.0, 3.0], dtype="float64")

    def step(x):
        real = x.astype("complex128")
        buffer.copy_(rg.imag(real))
        return x * 2, rg.imag(real)

    doubled, imag = rg.jit(step)(np.arange(3.0))
    np.testing.assert_array_equal(doubled, [0, 2, 4])
    np.testing.assert_array_equal(imag, np.zeros(3))
    np.testing.assert_array_equal(buffer, np.zeros(3))


def test_what_is_real_and_waits_for_complex_numbers_stays_real():
    def waiting(x, y):
        return rg.ops.get("after").call(x, y) * 2

    check(waiting, rg.tensor(np.arange(3.0)), drawn(2, 3), calls=True)
    check(waiting, drawn(2, 3), rg.tensor(np.arange(3.0)))


@pytest.mark.parametrize("fill", [2.0, 2.0 + 0j, 1.5 - 2j])
def test_real_numbers_are_padded_once_and_no_memory_is_there_for_an_imaginary_part_of_zeros(fill):
    x = leaf(3, dtype=np.float64)
    outputs = lower([traced(lambda x: rg.pad(x.astype("complex128"), 1, value=fill), x)])
    assert names(outputs.nodes) == ["input", "pad", "complex"]
    imag = outputs.nodes[-1].args[1]
    np.testing.assert_array_equal(imag, np.imag([fill, 0, 0, 0, fill]))
    assert any(imag.strides) is (np.imag(fill) != 0)


def test_a_border_of_a_value_that_is_not_known_is_a_call():
    check(lambda x, y: rg.pad(x, 1, value=y), drawn(3), drawn(), calls=True)

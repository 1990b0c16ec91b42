"""complexes: complex numbers in compiled code are pairs of real ones: moves, sums, products, transforms, loops and state."""

import numpy as np
import pytest

import retrograde as rg
from complex_cases import DTYPES, check, drawn, kinds_of
from retrograde.nn import functional

#: Each case is traced once, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning", "ignore::RuntimeWarning")

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
@pytest.mark.parametrize("dtype", DTYPES)
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


def test_a_border_of_a_value_that_is_not_known_is_a_call():
    check(lambda x, y: rg.pad(x, 1, value=y), drawn(3), drawn(), calls=True)

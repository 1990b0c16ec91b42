"""Functions that cost less on one side of zero are used where the operand is there for certain, and give the same bits."""

import numpy as np
import pytest
from harness import LANES, bits_of, compile_named

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
#: Name of the function, that for one side, and the sign of that side.
ONE_SIDED = [("exp", "exp_of_nonpositive", -1), ("log1p", "log1p_of_nonnegative", 1)]
BELOW = {
    "the negative of a square": lambda x, y: -(x**2),
    "a Gaussian": lambda x, y: -((x - y) ** 2) / (2 * 0.3**2),
    "a product of two pairs in any order": lambda x, y: -0.5 * x * y * x * y,
    "a distance": lambda x, y: -rg.sqrt(x * x + y * y),
    "what is cut off": lambda x, y: rg.minimum(x, 0) - rg.abs(y),
    "a choice": lambda x, y: rg.where(x > y, -rg.abs(x), -3.0),
}
OPEN = {
    "a number": lambda x, y: x,
    "a product": lambda x, y: -x * y,
    "a cube": lambda x, y: -(x**3),
    "a sum of both signs": lambda x, y: y**2 - x**2,
    "a factor above zero": lambda x, y: 0.3 * (x - y) ** 2,
    "a choice of both signs": lambda x, y: rg.where(x > y, -rg.abs(x), y),
}


def drawn(count=2):
    return [rg.asarray(x) for x in np.random.default_rng(0).normal(size=(count, 1000)).astype(np.float32)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "one_sided", "sign"), ONE_SIDED)
def test_a_function_for_one_side_gives_the_bits_of_the_function(name, one_sided, sign, dtype):
    limits, rng = np.finfo(dtype), np.random.default_rng(0)
    magnitudes = np.concatenate([
        [0, limits.smallest_subnormal, limits.tiny, limits.max, np.inf, np.nan],
        np.logspace(-44, 38, 4000), rng.uniform(0, 120, 4000), rng.uniform(80, 760, 4000)])
    x = np.copysign(magnitudes, sign).astype(dtype)
    found = compile_named(one_sided, dtype, LANES[dtype])(x)
    assert np.array_equal(bits_of(found), bits_of(compile_named(name, dtype, LANES[dtype])(x)))


@pytest.mark.parametrize(("case", "is_cheap"), [*((f, True) for f in BELOW.values()), *((f, False) for f in OPEN.values())],
                         ids=[*BELOW, *OPEN])
def test_the_cheap_function_stands_where_the_operand_is_on_its_side(case, is_cheap):
    step, (x, y) = rg.jit(lambda x, y: rg.exp(case(x, y))), drawn()
    np.testing.assert_allclose(step(x, y), np.exp(np.asarray(case(x, y))), rtol=1e-5)
    (kernel,) = step.explain().kernels
    assert ("exp_of_nonpositive" in kernel.llvm) == is_cheap


def test_factors_of_either_sign_that_are_known_at_run_time_only_make_two_kernels():
    (x,) = drawn(1)
    for factor in (0.37, -0.37, 1.91, -1.91):
        np.testing.assert_allclose(rg.jit(lambda x, f=factor: rg.exp(x * x * f))(x), np.exp(np.asarray(x) ** 2 * factor), rtol=1e-5)


def test_a_repetition_is_not_known_by_its_first_round():
    def repeated(x):
        y = -(x**2)
        for _ in range(40):
            y = 0.25 * rg.exp(y) * rg.sin(x) + 0.2
        return y

    (x,) = drawn(1)
    np.testing.assert_allclose(rg.jit(repeated)(x), repeated(x), rtol=1e-4, atol=1e-6)

"""Numbers of NumPy as arguments of compiled functions, such as those that compiled functions return."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import TraceError

X = np.array([0.5, 1.0, -2.0])


def test_a_number_that_a_compiled_function_gave_is_handed_to_it_again_without_another_trace():
    step = lambda total, x: total * 0.5 + np.sin(x).sum()
    compiled = rg.jit(step)
    found, wanted = np.array(1.0), 1.0
    for _ in range(5):
        found, wanted = compiled(found, X), step(wanted, X)
    assert compiled.traces == 1
    np.testing.assert_allclose(found, wanted)


def test_a_number_of_numpy_has_its_gradient_and_its_dtype_in_compiled_code():
    scaled = lambda s, x: (x * s).sum()
    assert rg.jit(rg.grad(scaled))(np.float64(2), X) == X.sum()
    assert rg.jit(lambda x, s: x * s)(rg.tensor([1.0]), np.float64(2)).dtype == rg.float64


def test_a_number_that_the_function_adds_to_stays_what_it_was_for_the_caller():
    def function(s, x):
        s += 1
        return s * x.sum()

    s = np.float64(2)
    assert rg.jit(function)(s, X) == function(s, X)
    assert s == 2


def test_a_number_that_decides_what_is_traced_is_named_as_static():
    power = lambda x, n: x**n if n > 2 else x
    with pytest.raises(TraceError, match="has no number yet"):
        rg.jit(power)(X, np.float64(3))
    np.testing.assert_allclose(rg.jit(power, static_argnums=1)(X, np.float64(3)), X**3)
    np.testing.assert_allclose(rg.jit(lambda x, n: rg.scan(lambda c, _: (c * 2, None), x, length=n)[0])(X, np.int64(3)), X * 8)


def test_compiled_kernels_are_timed_on_numbers_of_numpy():
    assert rg.jit(lambda s, x: (x * s).sum())(np.float64(2), X) == 2 * X.sum()
    assert rg.jit(lambda s, x: (x * s).sum()).profile(np.float64(2), X).kernels

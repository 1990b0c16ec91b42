"""complex_parts: complex numbers of which a part is known to be zero, or is put together of others, are those of eager code."""

import numpy as np
import pytest

import retrograde as rg
from complex_cases import check, drawn
from graphs import leaf, names, traced
from retrograde.compiler.passes.lower import lower

#: Each case is traced once, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning", "ignore::RuntimeWarning")

ONE_PART = ["real", "imag", "conj", "reciprocal", "square", "sqrt", "abs", "sign", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
            "sinh", "cosh", "tanh", "sin", "cos", "tan", "isnan", "isinf", "isfinite", "logical_not"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ONE_PART)
def test_functions_of_complex_numbers_of_which_a_part_is_known_to_be_zero(name):
    function, x = getattr(rg, name), rg.tensor([0.1, 0.7, 2.5, 31.0])
    check(lambda x: function(x.astype("complex128")), x)
    check(lambda x: function(x * 1j), x)


OF_TWO = {"add": rg.add, "subtract": rg.subtract, "multiply": rg.multiply, "divide": rg.divide, "equal": rg.equal, "not equal": rg.not_equal,
         "power": lambda x, y: x ** 3 + y, "choice": lambda x, y: rg.where(rg.real(x) > 0.5, x, y),
         "product": lambda x, y: x[None] @ y[:, None]}
OF_PARTS = {"real": lambda x: x.astype("complex128"), "imaginary": lambda x: x * 1j, "both": lambda x: rg.complex(x, x * 2.0)}


@pytest.mark.sampled(2)
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

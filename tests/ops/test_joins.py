"""Joining: Python numbers among arrays."""

import pytest

import retrograde as rg


@pytest.mark.parametrize("dtype", [rg.float16, rg.bfloat16, rg.float32, rg.int32])
def test_python_numbers_among_arrays_do_not_promote(dtype):
    x = rg.tensor(3.0, dtype=dtype)
    functions = {
        "stack": lambda x: rg.stack([1, x, x * 2]),
        "einsum": lambda x: rg.einsum(",,->", x, 2, x),
        "tensor": lambda x: rg.tensor([[1, x], [True, x]]),
        "where": lambda x: rg.where(x > 1, x, 0),
    }
    for name, function in functions.items():
        assert function(x).dtype == dtype, name
    for name in ("stack", "einsum", "where"):
        compiled, expected = rg.jit(functions[name])(x), functions[name](x)
        assert compiled.dtype == dtype and compiled.tolist() == expected.tolist()
    assert rg.vmap(functions["stack"])(rg.tensor([1.0, 2.0], dtype=dtype)).dtype == dtype


def test_a_python_number_of_another_kind_promotes_as_in_arithmetic():
    x = rg.tensor(3, dtype=rg.int32)
    assert rg.stack([0.5, x]).dtype == (x + 0.5).dtype == rg.einsum(",->", x, 0.5).dtype == rg.float64
    y = rg.tensor(3.0, requires_grad=True)
    rg.stack([0.5, y, y]).sum().backward()
    assert y.grad.item() == 2 and y.grad.dtype == rg.float32

"""The kernel builder: each operation against NumPy, masked tails, reductions, and how functions enter a module."""

import re
from importlib import import_module

import llvmlite.binding as llvm
import numpy as np
import pytest
from harness import LANES, bits_of, build_map, compile_map, make_machine, optimize

import retrograde as rg
from retrograde.compiler.backends.cpu.codegen import vecmath
from retrograde.compiler.backends.cpu.codegen.vecmath import table
from retrograde.compiler.backends.cpu.codegen.vecmath.table import FEW_CALLS
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.target import named

FLOATS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "copysign": np.copysign,
}
ROUNDED = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint, "abs": np.abs, "sign": np.sign}
COMPARED = {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}
INTEGERS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


def _operands(dtype, count=203):
    random = np.random.default_rng(0)
    x, y = random.standard_normal((2, count)) * 5
    x[:6], y[:6] = [np.nan, 1, np.nan, np.inf, -np.inf, 2], [1, np.nan, np.nan, -np.inf, np.inf, 2]
    return x.astype(dtype), y.astype(dtype)


def _both(name):
    return lambda k, x, y: getattr(k, name)(x, y)


@pytest.mark.parametrize("lanes", [1, 4, 8])
@pytest.mark.parametrize("name", FLOATS)
def test_float_operations_are_those_of_numpy(name, lanes):
    x, y = _operands("float32")
    found = compile_map(_both(name), "float32", lanes, inputs=2)(x, y)
    with np.errstate(all="ignore"):
        assert np.array_equal(bits_of(found), bits_of(FLOATS[name](x, y)))


@pytest.mark.parametrize("aim", [None, named("x86-64")], ids=["instruction", "additions"])
@pytest.mark.parametrize("dtype", LANES)
@pytest.mark.parametrize("name", ROUNDED)
def test_rounding_is_that_of_numpy(name, dtype, aim):
    """Also of numbers around those from which on all are whole, of those around halves, and of subnormal ones."""
    edges = np.array([0.25, 0.5, 1, 1.5, 2, 2.5, 3, 2.0**22, 2.0**23, 2.0**24, 2.0**51, 2.0**52, 2.0**53, 2.0**63, 1e30, 1e-40, 5e-324, 0], dtype)
    edges = np.concatenate([edges, np.nextafter(edges, 0, dtype=dtype), np.nextafter(edges, np.inf, dtype=dtype)])
    x = np.concatenate([_operands(dtype)[0], edges, -edges])
    found = compile_map(lambda k, x: getattr(k, name)(x), dtype, LANES[dtype], aim=aim)(x)
    with np.errstate(all="ignore"):
        expected = ROUNDED[name](x)
    # NumPy's sign(-0.) is 0, and so is ours; the others keep the sign.
    assert np.array_equal(bits_of(found), bits_of(expected))


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_make_masks_that_are_stored_as_bytes(name):
    x, y = _operands("float32")
    found = compile_map(_both(name), "float32", 8, inputs=2, result="bool")(x, y)
    assert np.array_equal(found, COMPARED[name](x, y))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integer_operations_are_those_of_numpy(name, dtype):
    x, y = np.random.default_rng(1).integers(-100, 100, (2, 77)).astype(dtype)
    assert np.array_equal(compile_map(_both(name), dtype, 4, inputs=2)(x, y), INTEGERS[name](x, y))


def test_shifts_keep_or_lose_the_sign():
    x = np.array([-8, 8, -1, 2**30], np.int32)
    shifts = (compile_map(lambda k, x, n=n: getattr(k, n)(x, 2), "int32", 4)(x) for n in _SHIFTS)
    expected = (x << 2, x >> 2, (x.view(np.uint32) >> 2).view(np.int32))
    assert all(np.array_equal(found, wanted) for found, wanted in zip(shifts, expected, strict=True))


_SHIFTS = ("shift_left", "shift_right", "shift_right_unsigned")


@pytest.mark.parametrize("target", ["bool", "int32", "int64", "float16", "float64"])
def test_conversions_are_those_of_numpy(target):
    x = np.array([0.0, -0.0, 1.5, -2.75, 1000.25, 65504.0, 7.0], np.float32)
    found = compile_map(lambda k, x: k.convert(x, target), "float32", 4, result=target)(x)
    assert np.array_equal(found, x.astype(target))


def test_masks_convert_to_one_and_zero():
    x = np.array([-1.0, 2.0, 0.0, np.nan, 3.0], np.float32)
    found = compile_map(lambda k, x: k.convert(k.greater(x, 0), "float32"), "float32", 4)(x)
    assert found.tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("count", range(18))
def test_a_masked_tail_leaves_memory_beyond_it_alone(count):
    kernel = compile_map(lambda k, x: k.add(x, 1), "float32", 8)
    x, z = np.arange(32, dtype=np.float32), np.full(32, -1, np.float32)
    kernel.native(count, x.ctypes.data, z.ctypes.data)
    assert np.array_equal(z[:count], x[:count] + 1)
    assert np.all(z[count:] == -1)


@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum"])
def test_reduction_over_lanes_halves_them(name):
    x = np.random.default_rng(2).uniform(0.5, 2, 8).astype(np.float32)
    found = compile_map(lambda k, x: k.broadcast(k.reduce(getattr(k, name), x)), "float32", 8)(x)
    while x.size > 1:
        x = FLOATS[name](x[: x.size // 2], x[x.size // 2 :])
    assert np.all(found == x)


def test_polynomial_is_horner_and_estrin():
    x = np.linspace(-1, 1, 40)
    for degree in (1, 3, 4, 7, 12):
        coefficients = np.random.default_rng(degree).standard_normal(degree + 1).tolist()
        found = compile_map(lambda k, x, c=coefficients: k.polynomial(x, c), "float64", 4)(x)
        assert np.allclose(found, np.polynomial.polynomial.polyval(x, coefficients), rtol=1e-13, atol=1e-14)


def test_fma_rounds_once():
    x = np.float64(1 + 2.0**-30)
    found = compile_map(lambda k, x: k.fma(x, x, -1 - 2.0**-29), "float64", 4)(np.full(5, x))
    assert np.all(found == 2.0**-60)


def test_python_numbers_and_scalars_fit_the_vector():
    kernel = compile_map(lambda k, x: k.subtract(1, k.multiply(k.constant(3, lanes=1), x)), "float32", 8)
    assert kernel(np.arange(9)).tolist() == [1 - 3 * i for i in range(9)]


def test_a_function_is_emitted_once_however_often_it_is_called():
    def chain(k, x):
        for _ in range(50):
            x = k.sin(x)
        return x

    text = str(build_map(chain, "float32", 8, inline="noinline"))
    assert text.count("define internal") == 3  # the sine, and its reduction of huge angles for vectors and for a lane
    assert text.count('call <8 x float> @"retrograde.sin.v8f32"') == 100  # the body and the tail


def test_only_the_first_few_calls_are_inlined_by_default():
    def chain(k, x):
        for _ in range(10):
            x = k.exp(x)
        return x

    text = str(build_map(chain, "float32", 8))
    assert text.count(") alwaysinline") == FEW_CALLS
    assert text.count(") noinline") == 20 - FEW_CALLS


def test_functions_refuse_integers_and_unknown_names():
    with pytest.raises(TypeError, match=r"k\.exp takes float32 or float64 operands, got int32"):
        build_map(lambda k, x: k.exp(x), "int32", 4)
    with pytest.raises(AttributeError, match="no operation 'sine'"):
        build_map(lambda k, x: k.sine(x), "float32", 4)


@pytest.mark.parametrize("inline", ["alwaysinline", "noinline", None])
def test_inlining_is_chosen_at_the_call(inline):
    x = np.linspace(-3, 3, 20).astype(np.float32)
    expected = compile_map(lambda k, x: k.sin(k.exp(x)), "float32", 8)(x)
    found = compile_map(lambda k, x: k.sin(k.exp(x)), "float32", 8, inline=inline)(x)
    assert np.array_equal(found, expected)


def test_vectors_of_sixteen_use_the_wide_registers_of_avx512():
    module = build_map(lambda k, x: k.exp(x), "float32", 16, inline="alwaysinline")
    if not module.triple.startswith("x86_64"):
        pytest.skip("the registers of another processor family")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = make_machine("skylake-avx512")
    assert "zmm" in machine.emit_assembly(optimize(module, machine))


@pytest.mark.skipif(not target().reads_operands, reason="a processor with many registers, or without multiply-adds")
def test_constants_of_polynomials_are_read_where_they_lie_in_memory():
    step = rg.jit(rg.exp)
    step(rg.ones(1000))
    (kernel,) = step.explain().kernels
    assert len(re.findall(r"vfmadd\d+ps\s+\S*\(%rip\)", kernel.assembly)) >= 4


def test_the_list_of_functions_names_each_one_with_the_file_that_defines_it():
    found = {module: set() for module in vecmath.MODULES}
    for module in found:
        import_module(f"{vecmath.__name__}.{module}")
    for (name, _), (emit, _) in table.FUNCTIONS.items():
        found[emit.__module__.rpartition(".")[2]].add(name)
    assert {module: {*names} for module, names in vecmath.MODULES.items()} == found

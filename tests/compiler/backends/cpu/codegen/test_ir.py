"""LLVM code as text: what the builder writes, LLVM reads, and it computes what its method says."""

import ctypes
import itertools
import re

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from retrograde.compiler.backends.cpu.codegen import ir
from retrograde.compiler.backends.cpu.codegen.counting import counted
from retrograde.compiler.backends.cpu.engine import assembly, engine
from retrograde.compiler.backends.cpu.host import target

I32, I64, POINTER = ir.IntType(32), ir.IntType(64), ir.PointerType()
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
numbers = itertools.count()


def called(write, *arguments, module=None):
    """What the function that `write(builder, *arguments)` writes returns for some integers."""
    module, name = module or ir.Module("", target()), f"tested_{next(numbers)}"
    function = ir.Function(module, ir.FunctionType(I64, [I64] * len(arguments)), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(write(builder, *function.args))
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))(engine().compile(module)(name))
    return run(*arguments)


@pytest.mark.parametrize(("name", "of_python"), [
    ("add", lambda x, y: x + y), ("sub", lambda x, y: x - y), ("mul", lambda x, y: x * y), ("and_", lambda x, y: x & y),
    ("or_", lambda x, y: x | y), ("xor", lambda x, y: x ^ y), ("sdiv", lambda x, y: int(x / y)),
    ("srem", lambda x, y: x - y * int(x / y)), ("shl", lambda x, y: x << y), ("ashr", lambda x, y: x >> y),
])
def test_instructions_on_integers_are_those_of_their_names(name, of_python):
    for x, y in ((7, 3), (-7, 3), (123456789, 17)):
        assert called(lambda b, x, y: getattr(b, name)(x, y), x, y) == of_python(x, y)


@pytest.mark.parametrize(("name", "of_numpy"), [("fadd", np.add), ("fsub", np.subtract), ("fmul", np.multiply), ("fdiv", np.divide),
                                                ("frem", np.fmod)])
def test_instructions_on_floats_are_those_of_their_names(name, of_numpy):
    for kind, dtype in ((FLOAT, np.float32), (DOUBLE, np.float64)):
        x, y = dtype(2.7), dtype(-0.3)
        bits = ir.IntType(np.dtype(dtype).itemsize * 8)
        found = called(lambda b, kind=kind, bits=bits, x=x, y=y: b.sext(b.bitcast(getattr(b, name)(kind(x), kind(y)), bits), I64))
        assert found == of_numpy(x, y).view(np.dtype(f"i{bits.width // 8}"))


@pytest.mark.parametrize("relation", ["==", "!=", "<", "<=", ">", ">="])
def test_comparisons_know_signs_and_nan(relation):
    holds = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
             ">=": np.greater_equal}[relation]
    for x, y in ((1, 2), (2, 1), (-1, 1), (1, -1), (3, 3)):
        assert called(lambda b, x, y: b.zext(b.icmp_signed(relation, x, y), I64), x, y) == holds(x, y)
        unsigned = np.array([x, y]).astype(np.uint64)
        assert called(lambda b, x, y: b.zext(b.icmp_unsigned(relation, x, y), I64), x, y) == holds(*unsigned)
    for x, y in ((1.0, 2.0), (2.0, 2.0), (np.nan, 1.0)):
        is_ordered = x == x
        ordered = called(lambda b, x=x, y=y: b.zext(b.fcmp_ordered(relation, DOUBLE(x), DOUBLE(y)), I64))
        unordered = called(lambda b, x=x, y=y: b.zext(b.fcmp_unordered(relation, DOUBLE(x), DOUBLE(y)), I64))
        assert (ordered, unordered) == (is_ordered and holds(x, y), not is_ordered or holds(x, y))


@pytest.mark.parametrize(("kind", "dtype"), [(ir.HalfType(), np.float16), (FLOAT, np.float32), (DOUBLE, np.float64)])
def test_a_constant_is_rounded_to_its_type(kind, dtype):
    for value in (0.1, -0.0, 1e-7, float("inf"), -float("inf"), 3.0):
        bits = ir.IntType(np.dtype(dtype).itemsize * 8)
        found = called(lambda b, value=value, bits=bits: b.sext(b.bitcast(kind(value), bits), I64))
        assert found == np.asarray(value, dtype).view(f"i{bits.width // 8}")


def test_conversions_keep_values():
    assert called(lambda b, x: b.sext(b.trunc(x, I32), I64), -5) == -5
    assert called(lambda b, x: b.zext(b.trunc(x, I32), I64), -5) == 2**32 - 5
    assert called(lambda b, x: b.fptosi(b.fpext(b.fptrunc(b.sitofp(x, DOUBLE), FLOAT), DOUBLE), I64), -5) == -5
    assert called(lambda b, x: b.add(b.trunc(x, I64), x), 4) == 8  # it has the type already


def test_vectors_are_taken_apart_and_put_together():
    lanes = ir.Constant(ir.VectorType(I64, 4), [10, 20, 30, 40])

    def write(b, x):
        turned = b.shuffle_vector(lanes, lanes, ir.Constant(ir.VectorType(I32, 2), [3, 1]))
        changed = b.insert_element(turned, x, I32(0))
        return b.add(b.extract_element(changed, I32(0)), b.extract_element(changed, I32(1)))

    assert called(write, 5) == 25


def test_several_values_are_one():
    def write(b, x):
        both = ir.Constant(ir.LiteralStructType([I64, DOUBLE]), ir.Undefined)
        both = b.insert_value(b.insert_value(both, x, 0), DOUBLE(3.0), 1)
        return b.add(b.extract_value(both, 0), b.fptosi(b.extract_value(both, 1), I64))

    assert called(write, 4) == 7


def test_memory_holds_what_was_stored():
    def write(b, x):
        room = b.alloca(ir.VectorType(I64, 2))
        room.align = 64
        b.store(ir.Written(ir.VectorType(I64, 2), "zeroinitializer"), room, align=16)
        b.store(x, b.gep(room, [I64(1)], source_etype=I64))
        first, second = b.load(room, typ=I64, align=8), b.load(b.gep(room, [I64(1)], source_etype=I64), typ=I64)
        is_aligned = b.icmp_signed("==", b.srem(b.ptrtoint(room, I64), I64(64)), I64(0))
        return b.select(is_aligned, b.sub(second, first), I64(-1))

    assert called(write, 6) == 6


def test_a_table_is_read_from_memory():
    module = ir.Module("", target())
    table = ir.Table(module, "squares", ir.Constant(ir.ArrayType(I64, 4), [0, 1, 4, 9]))
    assert called(lambda b, x: b.load(b.gep(table, [x], source_etype=I64), typ=I64), 3, module=module) == 9


def test_functions_call_each_other():
    module = ir.Module("", target())
    double = ir.Function(module, ir.FunctionType(I64, [I64]), "double")
    double.linkage = "internal"
    double.attributes.add("noinline")
    b = ir.IRBuilder(double.append_basic_block())
    b.ret(b.add(double.args[0], double.args[0]))
    assert called(lambda b, x: b.call(double, [x], attrs=("noinline",)), 21, module=module) == 42
    assert called(lambda b, x: b.call(b.inttoptr(b.ptrtoint(double, I64), POINTER), [x], kind=double.kind), 4, module=module) == 8


def test_a_loop_carries_values_round():
    def write(b, count):
        before, body, after = b.block, b.append_basic_block("body"), b.append_basic_block("after")
        b.branch(body)
        b.position_at_end(body)
        i, total = b.phi(I64), b.phi(I64)
        following, added = b.add(i, I64(1), flags=("nsw", "nuw")), b.add(total, i)
        for phi, value in ((i, following), (total, added)):
            phi.add_incoming(I64(0), before)
            phi.add_incoming(value, body)
        b.cbranch(b.icmp_signed("<", following, count), body, after, weights=(99, 1))
        b.position_at_end(after)
        return added

    assert called(write, 10) == 45


def test_a_loop_hides_its_counter_from_llvm_by_a_hint_that_becomes_no_instruction():
    def write(b, count):
        total = b.alloca(I64)
        b.store(I64(0), total)
        with counted(b, I64(0), count) as index:
            b.store(b.add(b.load(total, I64), index), total)
        return b.load(total, I64)

    module = ir.Module("", target())
    assert called(write, 10, module=module) == 45
    (reached,) = re.findall(r"icmp slt i64 (%\S+),", str(module))
    (hidden,) = re.findall(rf"{reached} = add i64 (%\S+), 1", str(module))
    assert f'{hidden} = call i64 @"llvm.expect.i64"(' in str(module)
    assert "expect" not in assembly(module, target())


def test_branches_join_again():
    def write(b, x):
        with b.goto_entry_block():
            room = b.alloca(I64)
        b.store(I64(0), room)
        with b.if_then(b.icmp_signed(">", x, I64(5)), likely=False):
            b.store(I64(100), room)
        with b.if_else(b.icmp_signed("<", x, I64(0))) as (then, otherwise):
            with then:
                b.store(I64(-1), room)
            with otherwise:
                b.store(b.add(b.load(room, typ=I64), x), room)
        return b.load(room, typ=I64)

    assert [called(write, x) for x in (-3, 2, 7)] == [-1, 2, 107]


def test_a_block_that_ends_by_itself_is_left_so():
    module = ir.Module("", target())
    function = ir.Function(module, ir.FunctionType(I64, [I64]), "early")
    b = ir.IRBuilder(function.append_basic_block())
    with b.if_then(b.icmp_signed(">", function.args[0], I64(0))):
        b.ret(I64(1))
    b.ret(I64(0))
    assert called(lambda b, x: b.call(function, [x]), 5, module=module) == 1


def test_types_are_equal_if_they_are_written_alike():
    assert ir.VectorType(ir.FloatType(), 4) == ir.VectorType(FLOAT, 4) != ir.VectorType(DOUBLE, 4)
    assert len({ir.IntType(8), ir.IntType(8), ir.IntType(16)}) == 2


def test_two_functions_of_one_name_are_refused():
    module = ir.Module("", target())
    ir.Function(module, ir.FunctionType(I64, []), "same")
    with pytest.raises(ValueError, match="'same' twice"):
        ir.Function(module, ir.FunctionType(I64, []), "same")


def test_a_constant_pointer_is_null():
    assert str(ir.Constant(POINTER, None)) == "ptr null"
    with pytest.raises(ValueError, match="must be None"):
        ir.Constant(POINTER, 5)

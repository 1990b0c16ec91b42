"""What the compiler does with a node is decided by one list: each op has one kind, but for those that say so."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

import retrograde as rg
from graphs import called, leaf

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from retrograde.compiler import cost, kinds
from retrograde.compiler.backends.cpu.cache import Cache
from retrograde.compiler.backends.cpu.codegen import ir
from retrograde.compiler.backends.cpu.codegen.counting import counted
from retrograde.compiler.backends.cpu.codegen.entry import Entry
from retrograde.compiler.backends.cpu.units import library
from retrograde.compiler.graph.recorder import PICK
from retrograde.compiler.graph.views import MOVEMENTS
from retrograde.compiler.index.elements import REDUCTIONS
from retrograde.compiler.index.pieces import PIECES
from retrograde.compiler.kernels import attention, convolution, fourier, linalg, running
from retrograde.compiler.kernels.inline import PARTS
from retrograde.compiler.kernels.kernel import Kernel, launch
from retrograde.compiler.kernels.kind import Kind
from retrograde.core import registry
from retrograde.core.symbol import Symbol


def test_an_op_may_be_of_several_kinds_only_where_the_list_says_which_comes_first():
    several = {op: [entry.name for entry in found] for op, found in kinds._BY_OP.items() if len(found) > 1}
    assert several == {
        "reshape": ["View", "Reshaped"], "scatter_add": ["Scatter", "Pieces"],
        "quantized_linear": ["QuantizedProduct", "IntegerProduct", "QuantizedMatmul"],
        "finish_means": ["Finished", "InPlace"],
        **{op: ["Winograd", "Convolution"] for op in ("conv2d", "conv2d_input", "conv2d_weight")}}


@pytest.mark.parametrize("entry", kinds.KINDS, ids=lambda entry: entry.name)
def test_each_kind_has_ops_and_a_kernel_that_computes_it(entry):
    assert entry.ops
    assert type(entry.kind).matches is not Kind.matches
    assert entry.kind.kernel.name


def test_the_list_has_the_ops_that_the_tables_of_the_kernels_have():
    listed = {entry.name: {*entry.ops} for entry in kinds.KINDS}
    tables = {"View": MOVEMENTS, "Pieces": PIECES, "Reduction": REDUCTIONS, "Convolution": convolution._GEOMETRIES, "Fourier": fourier._OPS,
              "Running": running._OPS, "LinearAlgebra": linalg._COSTS, "Random": {name for name, _ in cost.RANDOM_SECONDS},
              "Attention": attention._OPERANDS, "Part": PARTS}
    assert {name: listed[name] for name in tables} == {name: {*table} for name, table in tables.items()}


def test_a_constant_is_its_own_memory_and_a_new_shape_that_of_what_it_shows():
    facts, known, x = kinds.Facts(), np.ones((2, 3)), leaf(6, 4)
    assert facts.memory(known) is known and facts.base(known) is known
    assert facts.memory(called("reshape", x, (3, 8))) is x and facts.base(called("permute_dims", x, (1, 0))) is x


def test_only_the_result_of_attention_forward_can_be_written_in_another_order():
    x = leaf(2, 3, 4, 8)
    forward = Symbol(registry.get("attention_with_sums"), (x, x, x, None, False, 1.0), None, None)
    can = lambda node, order: kinds.Facts().kind(node).kernel.can_reorder(node, order)
    first, sums = [Symbol(PICK, (forward, i), shape, np.dtype(np.float32)) for i, shape in enumerate(((2, 3, 4, 8), (2, 3, 4)))]
    assert can(first, (0, 2, 1, 3)) and not can(first, (0, 1, 3, 2)) and not can(sums, (0, 1, 2))
    assert not can(leaf(2, 3, 4, 8), (0, 2, 1, 3))


I64, I8 = ir.IntType(64), ir.IntType(8)


class Signs(Kernel):
    """Whether numbers of float64 have their sign bit set."""

    name = "signs"

    def matches(self, node, facts):
        return bool(node.size) and node.args[0].dtype == np.float64

    def launches(self, step, assembler):
        node = step.roots[0]
        buffers = assembler.layout(step, node.args[0])[0], assembler.storage(node)
        return launch(step, Plan((node.size,)), write_signs, buffers, node.size * cost.ENTRY_SECONDS, assembler)


class Plan(namedtuple("Plan", "words")):
    key, chunks = ("signs",), 1


def write_signs(module, name, plan):
    entry = Entry(module, name)
    b, x, out, size = entry.builder, entry.pointer(0), entry.pointer(1), entry.word(2)
    with counted(b, I64(0), size) as i:
        bits = b.load(b.gep(x, [i], source_etype=I64), typ=I64)
        b.store(b.zext(b.icmp_signed("<", bits, I64(0)), I8), b.gep(out, [i], source_etype=I8))
    b.ret_void()


def test_a_kind_of_kernel_is_added_by_a_class_and_an_entry_of_the_list(monkeypatch):
    monkeypatch.setattr(library(), "store", Cache(None))  # the key of a stored program does not know of this kind
    monkeypatch.setattr(kinds, "_BY_OP", {**kinds._BY_OP, "signbit": [SimpleNamespace(kind=Signs())]})
    x = np.random.default_rng(0).standard_normal((31, 41))
    x[0, :2] = 0.0, -0.0

    @rg.jit
    def f(x):
        return rg.where(rg.signbit(rg.permute_dims(x, (1, 0)) * 2), 1.0, rg.exp(x.T)).sum(axis=0)

    expected = np.where(np.signbit(x.T * 2), 1.0, np.exp(x.T)).sum(axis=0)
    np.testing.assert_allclose(f(x), expected, rtol=1e-12)
    assert [kernel.kind for kernel in f.explain().kernels] == ["loop", "signs", "loop"]

"""Compiles a loop around one builder operation and calls it on NumPy arrays."""

import ctypes
from functools import cache

import llvmlite.binding as llvm
import numpy as np

from retrograde.compiler.backends.cpu.codegen import ir
from retrograde.compiler.backends.cpu.codegen.builder import Builder
from retrograde.compiler.backends.cpu.host import target
from retrograde.dtypes import as_dtype

LANES = {"float32": 8, "float64": 4}
_INDEX, _POINTER = ir.IntType(64), ir.PointerType()
_engines = []


def _engine():
    # The engine owns the target machine, so there is one of each for the whole process.
    if not _engines:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        _engines.append(llvm.create_mcjit_compiler(llvm.parse_assembly(""), make_machine()))
    return _engines[0]


def make_machine(cpu=None, features=None):
    """A target machine for this processor, or for another one that is only compiled for."""
    if cpu is None:
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features or "", opt=3, reloc="pic", codemodel="small", jit=True)


def build_map(emit, dtype, lanes, inputs=1, outputs=1, result=None, name="kernel", inline=None, aim=None):
    """A module whose function maps `emit` over arrays; a count that is not a multiple of `lanes` ends with a masked step. Code is for
    the target `aim`, if that is not this processor's.
    """
    module = ir.Module(name, aim or target())
    module.triple = llvm.get_process_triple()
    kind = ir.FunctionType(ir.VoidType(), [_INDEX] + [_POINTER] * (inputs + outputs))
    function = ir.Function(module, kind, name)
    entry = function.append_basic_block("entry")
    b = ir.IRBuilder(entry)
    k = Builder(b, dtype, lanes, inline=inline)
    count, pointers = function.args[0], function.args[1:]
    whole = b.and_(count, _INDEX(-lanes))
    head, body, tail = (function.append_basic_block(label) for label in ("head", "body", "tail"))
    b.branch(head)
    b.position_at_end(head)
    i = b.phi(_INDEX)
    i.add_incoming(_INDEX(0), entry)
    b.cbranch(b.icmp_unsigned("<", i, whole), body, tail)
    b.position_at_end(body)
    values = [k.load(k.offset(p, i)) for p in pointers[:inputs]]
    for value, p in zip(_tuple(emit(k, *values)), pointers[inputs:], strict=True):
        k.store(k.as_stored(value, result or dtype), k.offset(p, i, result or dtype))
    i.add_incoming(b.add(i, _INDEX(lanes)), b.block)
    b.branch(head)
    b.position_at_end(tail)
    if lanes > 1:
        mask = k.first_lanes(b.sub(count, whole))
        values = [k.load_masked(k.offset(p, whole), mask) for p in pointers[:inputs]]
        for value, p in zip(_tuple(emit(k, *values)), pointers[inputs:], strict=True):
            k.store_masked(k.as_stored(value, result or dtype), k.offset(p, whole, result or dtype), mask)
    b.ret_void()
    return module


def _tuple(values):
    return values if isinstance(values, tuple) else (values,)


def optimize(module, machine):
    """Verify and run the passes; returns the compiled-to module."""
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(parsed, builder)
    return parsed


def compile_map(emit, dtype, lanes, inputs=1, outputs=1, result=None, inline=None, aim=None):
    """A Python function that applies `emit` to arrays of one length."""
    name = f"kernel{len(_engines)}"
    engine = _engine()
    module = optimize(build_map(emit, dtype, lanes, inputs, outputs, result, name, inline, aim), make_machine())
    _engines.append(module)
    engine.add_module(module)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, *[ctypes.c_void_p] * (inputs + outputs))
    native = kind(engine.get_function_address(name))

    def run(*arrays):
        arrays = [np.ascontiguousarray(x, as_dtype(dtype)) for x in arrays]
        found = [np.empty(arrays[0].shape, as_dtype(result or dtype)) for _ in range(outputs)]
        native(arrays[0].size, *(x.ctypes.data for x in (*arrays, *found)))
        return found[0] if outputs == 1 else tuple(found)

    run.native = native
    return run


@cache
def compile_named(name, dtype, lanes, inputs=1, outputs=1):
    """The builder's operation `name` on arrays; compiled once per process."""
    return compile_map(lambda k, *x: getattr(k, name)(*x), dtype, lanes, inputs, outputs)


def bits_of(x):
    """The bits of an array of floats, with one pattern for all NaN: what must be equal when results must be the same."""
    return np.where(np.isnan(x), np.float64(np.nan).astype(x.dtype), x).view(f"i{x.itemsize}")


def units_in_last_place(found, exact):
    """The error of each number against a wider reference, in units of the last place of the reference's rounding."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        error = np.abs(found.astype(exact.dtype) - exact) / np.spacing(np.abs(rounded)).astype(exact.dtype)
    agrees = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    return np.where(np.isfinite(error), error, np.where(agrees, 0, np.inf))

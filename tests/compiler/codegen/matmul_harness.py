"""A small engine and NumPy-facing helpers for the matrix product tests and benchmark."""

from functools import cache

import llvmlite.binding as llvm
import numpy as np

from retrograde.compiler.codegen import target
from retrograde.compiler.codegen.matmul import MatmulKernel


@cache
def machine():
    """The target machine used for passes and assembly listings."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return _new_machine()


def _new_machine():
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2)


@cache
def _engine():
    machine()
    # LLVM owns the target machine from here on, so it gets one of its own.
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), _new_machine())


def optimise(module):
    """The LLVM module of a module of `ir`, verified, after a short pipeline."""
    parsed = llvm.parse_assembly(str(module))
    parsed.triple = llvm.get_process_triple()
    parsed.verify()
    builder = llvm.create_pass_builder(machine(), llvm.create_pipeline_tuning_options(speed_level=2))
    passes = llvm.create_new_module_pass_manager()
    for add in (
        passes.add_simplify_cfg_pass,
        passes.add_instruction_combine_pass,
        passes.add_new_gvn_pass,
        passes.add_loop_rotate_pass,
        passes.add_instruction_combine_pass,
    ):
        add()
    passes.run(parsed, builder)
    return parsed


def assembly(module):
    """The machine code of a module, as text."""
    return machine().emit_assembly(optimise(module))


def compile_module(module):
    """Compile a module of `ir`; the answer is a function from names to addresses."""
    engine, parsed = _engine(), optimise(module)
    engine.add_module(parsed)
    engine.finalize_object()
    return engine.get_function_address


@cache
def kernel():
    """A kernel without hooks, shared by tests so that each code is compiled once."""
    return MatmulKernel(compile_module, target.host())


def operand(generator, rows, columns, dtype, layout="row", batch=()):
    """A random matrix whose strides are as `layout` says: row, column, spaced, reversed or backward."""
    if layout == "column":
        return operand(generator, columns, rows, dtype, "row", batch).swapaxes(-1, -2)
    if layout == "spaced":
        return operand(generator, 2 * rows, 3 * columns, dtype, "row", batch)[..., ::2, ::3]
    if layout == "reversed":
        return operand(generator, rows, columns, dtype, "row", batch)[..., ::-1, :]
    if layout == "backward":
        return operand(generator, rows, columns, dtype, "row", batch)[..., ::-1, ::-1]
    return generator.standard_normal((*batch, rows, columns)).astype(dtype)


def assert_product(c, expected, k):
    """Compare with a float64 result, within the rounding of a sum of `k` terms of size one."""
    size = np.finfo(c.dtype).eps * 4 * (k + 8) ** 0.5 * max(1.0, float(np.abs(expected).max(initial=0)))
    np.testing.assert_allclose(c, expected, rtol=0, atol=size)

"""The engine: LLVM modules to machine code, and machine code into this process."""

import ctypes
import threading
from functools import cache

import llvmlite.binding as llvm

from ....errors import CompilerError
from ....once import once

_LOCK = threading.Lock()


#: A text longer than this takes long to compile well.
_LONG = 2_000_000


def object_code(module, target, is_final=False):
    """The machine code of a module (of `ir`, or LLVM text) for a target, as the bytes of an object file.

    `is_final` code is as it should be, and passes would only take time. Several threads may compile at the same time.
    """
    return _emitted(*_prepared(str(module), target, is_final))


def assembly(module, target, is_final=False):
    """The machine code of a module as text."""
    machine, parsed = _prepared(str(module), target, is_final)
    return machine.emit_assembly(parsed)


def _prepared(text, target, is_final):
    """What makes machine code of a text, and the module that it makes it of."""
    level = 1 if len(text) > _LONG else 2
    machine = _machine(target, level)
    return machine, _parsed(text) if is_final else _optimised(text, machine, level)


def _emitted(machine, parsed):
    """The object file of a module in a context of its own.

    llvmlite lets one thread at a time into LLVM, for the sake of modules that share a context. Modules with a context and a
    machine of their own need no such care, so the longest call goes past its lock.
    """
    emit = getattr(llvm.ffi.lib.LLVMPY_TargetMachineEmitToMemory, "_cfn", None)
    if emit is None:
        return machine.emit_object(parsed)
    lib = llvm.ffi.lib
    with llvm.ffi.OutputString() as message:
        buffer = emit(machine, parsed, 1, message)
        if not buffer:
            raise CompilerError(f"LLVM refused a module: {message}")
    try:
        return ctypes.string_at(lib.LLVMPY_GetBufferStart(buffer), lib.LLVMPY_GetBufferSize(buffer))
    finally:
        lib.LLVMPY_DisposeMemoryBuffer(buffer)


def _optimised(text, machine, opt):
    """A module after the few passes that matter: loops are vectors already, and what does not change in them is hoisted."""
    parsed = _parsed(text)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=opt))
    passes = llvm.create_new_module_pass_manager()
    # Functions of vectors first, so that what follows sees them in place.
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(parsed, builder)
    return parsed


def _parsed(text):
    parsed = llvm.parse_assembly(text, llvm.create_context())
    parsed.verify()  # a wrong signature would crash what comes next
    return parsed


_MACHINES = threading.local()


def _machine(target, opt):
    """The target machine of this thread."""
    told = target.triple, target.name, target.features, opt
    known = vars(_MACHINES).setdefault("known", {})
    if told not in known:
        known[told] = _new_machine(*told)
    return known[told]


def _new_machine(triple, name, features, opt):
    _initialise()
    # All other targets take time to load, and hardly anybody asks for them.
    if triple != llvm.get_process_triple():
        _initialise_others()
    found = llvm.Target.from_triple(triple)
    return found.create_target_machine(cpu=name, features=features, opt=opt, reloc="pic", codemodel="small", jit=True)


@cache
def _initialise():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


@cache
def _initialise_others():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


class Engine:
    """What machine code is loaded into. LLVM owns the target machine of an engine, so that one is its own."""

    def __init__(self):
        _initialise()
        machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic", codemodel="small", jit=True)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)

    def load(self, objects):
        """Load object files, given as bytes; the names that they define must be new to this process."""
        with _LOCK:
            for code in objects:
                self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name):
        """The address of a function that was loaded."""
        return self._engine.get_function_address(name)

    def compile(self, module):
        """Compile and load a module; a function from names to addresses."""
        self.load([object_code(module, module.target)])
        return self.address


@once
def engine():
    """The engine of this process."""
    return Engine()

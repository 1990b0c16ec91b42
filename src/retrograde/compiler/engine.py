"""The engine: LLVM modules to machine code, in one execution engine for the process."""

import ctypes
import threading
from functools import cache
from itertools import count

import llvmlite.binding as llvm

_LOCK = threading.Lock()


class Engine:
    """Compiles modules for this processor. The machine belongs to LLVM from the first module on, so there is one."""

    def __init__(self):
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._numbers = count()
        self._machine = _machine()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())

    def number(self):
        """A number that no other module of this process has."""
        return next(self._numbers)

    def compile(self, module):
        """Optimise and load a module of llvmlite's IR; a function from names to addresses."""
        with _LOCK:
            parsed = llvm.parse_assembly(str(module))
            parsed.verify()  # a wrong signature would crash the passes
            self.optimise(parsed)
            self._engine.add_module(parsed)
            self._engine.finalize_object()
        return self._engine.get_function_address

    def optimise(self, parsed):
        """Run the few passes that matter here: loops are vectors already, and what does not change in them is hoisted."""
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        builder = llvm.create_pass_builder(self._machine, options)
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        passes.run(parsed, builder)

    def assembly(self, module):
        """The machine code of a module, as text."""
        parsed = llvm.parse_assembly(str(module))
        parsed.verify()
        self.optimise(parsed)
        return self._machine.emit_assembly(parsed)


def _machine():
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=2, reloc="pic", codemodel="small", jit=True
    )


@cache
def engine():
    """The engine of this process."""
    return Engine()


_ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def entry(address):
    """The function at `address`, which takes a table of pointers."""
    return _ENTRY(address)

"""The engine: LLVM modules to machine code, and machine code into this process."""

import threading
from functools import cache

import llvmlite.binding as llvm

_LOCK = threading.Lock()


def object_code(module, opt=2):
    """The machine code of a module (llvmlite's IR or LLVM text) for this processor, as the bytes of an object file."""
    return _machine(opt).emit_object(_optimised(module, opt))


def assembly(module):
    """The machine code of a module as text."""
    return _machine(2).emit_assembly(_optimised(module, 2))


def _optimised(module, opt):
    """A module after the few passes that matter: loops are vectors already, and what does not change in them is hoisted."""
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()  # a wrong signature would crash the passes
    builder = llvm.create_pass_builder(_machine(opt), llvm.create_pipeline_tuning_options(speed_level=opt))
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(parsed, builder)
    return parsed


@cache
def _machine(opt):
    _initialise()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=opt, reloc="pic", codemodel="small", jit=True
    )


@cache
def _initialise():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


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
        self.load([object_code(module)])
        return self.address


@cache
def engine():
    """The engine of this process."""
    return Engine()

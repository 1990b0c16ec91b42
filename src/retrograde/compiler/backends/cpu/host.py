"""The target of this process: the processor that it runs on, or another that this one can stand in for, if the user names one."""

import os
import platform
from importlib import import_module

from ....errors import ArgumentError
from ....once import once
from ...target import Target, cache_sizes, describe, lacking, named
from .cache import default_cache
from .machine import name_for, processor

#: The variable that names a target, read when code is first needed. Without it code is for the very processor that runs it.
VARIABLE = "RETROGRADE_TARGET"
_KINDS = Target.__annotations__.values()


@once
def target():
    """What code for this process is generated for."""
    return chosen(os.environ.get(VARIABLE, ""), native())


def chosen(name, found):
    """The target called `name`, an ArgumentError where the processor `found` cannot run its code; `found` itself for ""."""
    if not name:
        return found
    try:
        _, _, system = found.triple.partition("-")
        wanted = named(name, system)  # with the usual caches: the same code on all machines
    except ArgumentError as error:
        raise ArgumentError(f"the variable {VARIABLE}: {error}") from None
    # Refused here, in words: code for instructions that the processor has not would end the process.
    missing = lacking(name, found.machine, {word[1:]: word[0] == "+" for word in found.features.split(",") if word})
    if missing:
        raise ArgumentError(f"the variable {VARIABLE} asks for {name}, and this processor, {found.name}, lacks "
                            f"{', '.join(missing)}")
    return wanted


def native():
    """The processor that this process runs on. What LLVM says of it is kept on disk, since loading LLVM takes long."""
    store, name = default_cache(), name_for(("target", processor()))
    known = store.get(name)
    if known is None:
        llvm = import_module("llvmlite.binding")
        features = llvm.get_host_cpu_features()
        triple, told = llvm.get_process_triple(), features.flatten()
        found = describe(llvm.get_host_cpu_name(), platform.machine().lower(), features, cache_sizes(), triple, told)
        store.put(name, "\n".join([str(int(fact) if isinstance(fact, bool) else fact) for fact in found]).encode())
        return found
    facts = zip(_KINDS, known.decode().split("\n"), strict=True)
    return Target(*[fact if kind is str else kind(int(fact)) for kind, fact in facts])

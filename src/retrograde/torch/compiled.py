"""`torch.compile` on `rg.jit`: what cannot be traced runs as it is, with one warning that says why."""

import warnings
from functools import partial
from types import FunctionType
from typing import Any, cast

from ..errors import ArgumentError, RetraceWarning, TraceError
from ..transforms.jit import Compiled, CompiledObject
from ..transforms.statics import Statics
from .restoring import State


class CompileWarning(RetraceWarning):
    """A function could not be compiled and runs as it is."""


class _Falling:
    """What is compiled, unless it cannot be: then the function itself, from the first such call on."""

    _memory: Any
    _function: Any

    def __call__(self, *args, **kwargs):
        memory, compiled = self._memory, cast("Any", super())
        if getattr(memory, "is_eager", False):
            return self._function(*args, **kwargs)
        if getattr(memory, "is_whole", False) or memory.programs and any(memory.programs.values()):
            return compiled.__call__(*args, **kwargs)
        before = State(self._function)
        try:
            return compiled.__call__(*args, **kwargs)
        except (TraceError, ArgumentError) as error:
            if isinstance(error, ArgumentError) and "hashable" not in str(error):
                raise
            before.restore()
            memory.is_eager = True
            name = getattr(self._function, "__name__", type(self._function).__name__)
            warnings.warn(f"{name} runs without being compiled, since {error}. torch.compile(..., fullgraph=True) makes this an "
                          "error", CompileWarning, stacklevel=2)
            return self._function(*args, **kwargs)


class CompiledFunction(_Falling, Compiled):
    """A function that `torch.compile` was given."""


class CompiledModule(_Falling, CompiledObject):
    """A module that `torch.compile` was given."""


def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False):
    """`model`, a function or a module, compiled to machine code on its first call with arguments of new shapes and dtypes.

    fullgraph  whether what cannot be traced is an error; else it runs as it is, with one warning
    disable    whether to return `model` itself

    The other arguments choose among PyTorch's compilers, and change nothing here.

    >>> import retrograde.torch as torch
    >>> torch.compile(lambda x: (x.sin() ** 2).sum())(torch.tensor([0.0, 1.0]))
    tensor(0.7081)
    """
    if model is None:
        return partial(compile, fullgraph=fullgraph, disable=disable)
    if disable or backend == "eager":
        return model
    if not callable(model):
        raise ArgumentError(f"torch.compile takes a function or a module, got {type(model).__name__}")
    kind = CompiledModule if isinstance(type(model).__call__, FunctionType) else CompiledFunction
    made = kind(model, Statics(model, (), ()))
    object.__getattribute__(made, "_memory").is_whole = fullgraph
    return made

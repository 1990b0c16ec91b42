"""Facts: what the block of an op says of it."""

from collections.abc import Callable
from typing import Any


class Facts:
    """What is told of an op where it is defined, and stays as it was told; `Op` derives the rest from its kernel.

    aliases           other names under which the registry finds it
    broadcasts        whether operands are broadcast against each other
    makes_views       whether the result may show the memory of its input
    is_variadic       whether the first argument is a sequence of operands
    is_multiple       whether the kernel returns a tuple of results
    has_effect        whether a call does something in the world outside: it prints, writes, or sends to others. Then calls are
                      neither merged, nor left out, nor moved past one another in compiled code. The kernel is not asked for the
                      shape of the result: that is the broadcast shape of the operands, or what `result_shape` says
    begins            whether that only begins then, and goes on beside what comes after: compiled code calls it as early as it can
    into              a kernel of several results that writes those which are wanted where compiled code has places for them: it is
                      handed {number of a result: contiguous array} before the arguments
    is_real           whether complex operands are refused: the kernel would drop their imaginary parts
    is_composite      whether the kernel is made of ops, so that it can do without a rule
    is_differentiable whether it has a derivative at all
    expansion         the op in terms of other ops, for the compiler; a composite's is its kernel
    result_shape      the shape of the result from the arguments, for a kernel that would take long to ask; NotImplemented where it
                      is asked all the same. The dtype is what NumPy makes of the operands, or what `result_dtype` says
    keeps_sizes       whether the sizes of the result are sizes of operands, or 1, whatever these are; the kernel is then asked for
                      the shape on small arrays
    emit              the op on one element, for the code generator: called with a kernel builder and the operands
    samples           where tests may evaluate it
    skips             checks of the sweep that do not apply, each with its reason
    is_public         whether it is a name of the package; what exists for rules and lowering alone is found by the registry only
    told              how errors call it, where users know it by another name; "" for the inside of others, which they do not name
    """

    aliases: tuple = ()
    broadcasts: bool = False
    makes_views: bool = False
    is_variadic: bool = False
    is_multiple: bool = False
    has_effect: bool = False
    begins: bool = False
    into: Callable | None = None
    is_real: bool = False
    is_composite: bool = False
    is_differentiable: bool = True
    expansion: Callable | None = None
    result_shape: Callable | None = None
    result_dtype: Any = None
    keeps_sizes: bool = False
    emit: Callable | None = None
    samples: Any = None
    skips: Any = None
    is_public: bool = True
    told: str | None = None

    # Written out, since `dataclasses` would be a twentieth of the time that importing the package takes.
    def __init__(self, **told):
        unknown = [name for name in told if name not in Facts.__annotations__]
        if unknown:
            raise TypeError(f"no fact of an op is called {', '.join(unknown)}; there are {', '.join(Facts.__annotations__)}")
        # All of them, also what was not told: each call of an op reads some, and what only the class has takes longer to find.
        self.__dict__.update(_UNTOLD)
        self.__dict__.update(told)


_UNTOLD = {name: getattr(Facts, name) for name in Facts.__annotations__}

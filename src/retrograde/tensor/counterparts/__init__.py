"""Counterparts: what stands for each of NumPy's functions when it is called on tensors, with NumPy's signature.

One table serves NumPy's protocols and `retrograde.numpy`. It is loaded by the first of them that is used.
"""

from ...core import registry
from ...errors import DTypeError, RegistryError
from . import calculus, folding, joining, passing, ranking, shaping, submodules, ufuncs
from .operands import holds_value, stacked

#: Functions whose first argument is a sequence of arrays.
OF_SEQUENCES = {**joining.FUNCTIONS, "multi_dot": submodules.LINALG["multi_dot"]}
#: Functions whose arguments are arrays; a list with tensors in it becomes one.
OF_ARRAYS = {**shaping.FUNCTIONS, **folding.FUNCTIONS, **ranking.FUNCTIONS, **calculus.FUNCTIONS}
UFUNCS = ufuncs.FUNCTIONS
_FUNCTIONS = {**OF_ARRAYS, **joining.FUNCTIONS}
_MODULES = {"numpy.linalg": submodules.LINALG, "numpy.fft": submodules.FFT}


def counterpart(function):
    """The function that stands for NumPy's `function` on tensors. Raises a DTypeError if there is none."""
    name, module = function.__name__, function.__module__
    table = _MODULES.get(module, _FUNCTIONS)
    if name in table:
        return table[name]
    if table is _FUNCTIONS and name in passing.NAMES:
        return passing.on_data(function)
    try:
        return registry.get(name).call
    except RegistryError:
        raise missing(f"{module.replace('numpy', 'np', 1)}.{name}") from None


def missing(name):
    """The error for a function of NumPy or SciPy that has no counterpart."""
    return DTypeError(f"{name} is not an op of retrograde, so it has no gradient; use np.asarray(t.detach()), or add an op "
                      "with @rg.ops")

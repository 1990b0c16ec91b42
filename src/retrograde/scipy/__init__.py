"""SciPy, differentiable: the parts of `autograd.scipy`, which need the extra "scipy".

A call with a tensor among its arguments is recorded; any other call is SciPy's own.
"""

from . import integrate, linalg, optimize, signal, special, stats

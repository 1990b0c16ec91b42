"""Elementary functions as LLVM IR on scalars and vectors: the list of those that there are, by file."""

from importlib import import_module

#: The functions of each file of this package. A file is loaded when one of them is first called: few programs need many.
MODULES = {
    "activation": ("sigmoid", "log_sigmoid", "softplus", "silu", "silu_slope", "silu_and_slope", "gelu", "gelu_slope",
                   "gelu_and_slope", "gelu_tanh", "gelu_tanh_slope", "gelu_tanh_and_slope"),
    "beta_slope": ("first_beta_slope",),
    "division": ("remainder", "floor_divide"),
    "exponential": ("exp", "exp2", "expm1", "exp_of_nonpositive"),
    "gamma": ("lgamma", "digamma"),
    "gamma_slope": ("gamma_slope",),
    "hyperbolic": ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    "inverse": ("asin", "acos", "atan", "atan2"),
    "logarithmic": ("log", "log2", "log10", "log1p", "log1p_of_nonnegative", "logaddexp"),
    "powers": ("power", "hypot", "cbrt", "rsqrt", "reciprocal"),
    "quantiles": ("erfinv",),
    "special": ("erf", "erfc"),
    "trigonometric": ("sin", "cos", "sincos", "tan"),
}
NAMES = {name: module for module, names in MODULES.items() for name in names}


def load(name):
    """Load the file of a function, whose decorator enters it in `table.py`."""
    import_module(f"{__package__}.{NAMES[name]}")

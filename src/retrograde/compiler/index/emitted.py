"""Emitted: what the code generator can do, as plain names, so that a graph is planned the same way where it is not installed."""

#: Elementwise ops without an `emit` of their own whose code is the builder's operation, or the math library's function, of
#: the same name.
EMITTED = frozenset([
    "abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_or", "bitwise_xor", "cbrt",
    "ceil", "copysign", "cos", "cosh", "digamma", "divide", "equal", "erf", "erfc", "erfinv", "exp", "exp2", "expm1",
    "first_beta_slope", "floor", "floor_divide", "gamma_slope", "gelu_tanh", "gelu_tanh_slope", "greater", "greater_equal",
    "hypot", "isfinite", "isinf", "isnan", "less", "less_equal", "lgamma", "log", "log10", "log1p", "log2", "log_sigmoid",
    "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "not_equal", "power", "reciprocal", "remainder", "round", "rsqrt", "sigmoid", "sign", "silu", "silu_slope", "sin", "sinh",
    "sqrt", "square", "subtract", "tan", "tanh", "trunc", "where",
])
#: Those that give integers for integers, and whose code takes floats only.
OF_FLOATS = frozenset(["floor_divide", "power", "remainder"])
#: The dtypes that kernels compute in.
ELEMENTS = frozenset(["bool", "int8", "int16", "int32", "int64", "float32", "float64"])
#: Those that kernels read and write, and compute with as float32.
NARROW = frozenset(["float16", "bfloat16"])
#: All that is found in memory.
IN_MEMORY = ELEMENTS | NARROW

"""What goes by other names in other libraries: what to write here instead, for the errors of unknown attributes."""

_TYPES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
          "bool": "bool_"}
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "mm": "@", "bmm": "@", "mv": "@", "add_": "+=",
          "sub_": "-=", "mul_": "*=", "div_": "/="}

#: Methods and attributes of tensors.
OF_TENSORS = {
    **{name: f"x.astype(rg.{dtype})" for name, dtype in _TYPES.items()},
    **{name: f"x {sign} y" for name, sign in _SIGNS.items()},
    **{name: f"rg.{name}(x)" for name in ("isnan", "isinf", "isfinite", "where")},
    "type": "x.astype(dtype)", "clamp": "x.clip(low, high)", "numel": "x.size", "nelement": "x.size", "dim": "x.ndim", "t": "x.T",
    "chunk": "rg.split(x, n)", "cat": "rg.concat([x, y])", "is_cuda": "x.device", "new_zeros": "rg.zeros(shape, dtype=x.dtype)",
    "clamp_": "x[...] = x.clip(low, high)", "normal_": "rg.nn.init.normal_(x)", "uniform_": "rg.nn.init.uniform_(x)",
    "type_as": "x.astype(y.dtype)", "cuda": 'x.to("cuda")', "is_floating_point": "rg.isdtype(x.dtype, 'real floating')",
    "new_ones": "rg.ones(shape, dtype=x.dtype)", "amax": "x.max(axis=...)", "amin": "x.min(axis=...)",
}
#: Names of the package.
OF_PACKAGE = {
    "cat": "rg.concat", "clamp": "rg.clip", "from_numpy": "rg.asarray", "as_tensor": "rg.asarray", "array": "rg.tensor",
    "eq": "rg.equal", "ne": "rg.not_equal", "lt": "rg.less", "le": "rg.less_equal", "gt": "rg.greater", "ge": "rg.greater_equal",
    "mm": "rg.matmul", "bmm": "rg.matmul", "dot": "rg.vecdot", "numel": "x.size", "is_tensor": "isinstance(x, rg.Tensor)",
    "chunk": "rg.split", "randint_like": "rg.randint", "randperm": "rg.permutation", "float": "rg.float32", "double": "rg.float64",
    "long": "rg.int64", "int": "rg.int32", "utils": "rg.nn.utils, or rg.data,",
    "multinomial": "rg.random.categorical, of logarithms of chances,",
    "autograd": "rg.grad, or loss.backward() and x.grad,", "lerp": "x + (y - x) * weight",
}


class Absent:
    """In the place of an attribute that there is not: says what to write. A `__getattr__` would make all reads slower."""

    def __init__(self, name, instead):
        self._name, self._instead = name, instead

    def __get__(self, owner, kind=None):
        raise AttributeError(f"a tensor has no attribute {self._name!r}; write {self._instead}", name=self._name, obj=owner)

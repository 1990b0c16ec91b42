"""The methods of the tensor, and the functions of the same names: from the tables, and from what is written out."""

from ..dtypes import bfloat16, complex64, complex128, float16, float32, float64, int8, int16, int32, int64, uint8
from ..dtypes import bool_ as boolean
from ..ops._arrays import arrays
from ..ops.elementary import arithmetic, comparisons
from ..ops.linalg import contractions
from ..ops.manipulation import movements
from ..tensor.inplace import assigning
from . import creation, indexing, kinds, linear, reductions, shapes, written
from .binding import bound, counted
from .differing import HELPERS, divided
from .elementwise import ROWS as OF_ELEMENTS
from .others import ROWS as OTHERS
from .tensor import UFUNCS, Tensor, is_operand

#: All functions of the tables, by name.
FUNCTIONS = {}
for _row in (*OF_ELEMENTS, *OTHERS):
    _function = FUNCTIONS[_row.name] = bound(_row, HELPERS)
    if _row.has_method:
        setattr(Tensor, _row.name, _function)
    if _row.has_inplace:
        setattr(Tensor, f"{_row.name}_", written.in_place(_function, f"{_row.name}_"))

FUNCTIONS["max"], FUNCTIONS["min"] = reductions.make_extremes(comparisons.maximum, comparisons.minimum)
_OF_MODULES = {
    reductions: "var std amax amin aminmax sort argsort topk kthvalue median mode cummax cummin quantile nanquantile norm nonzero "
                "unique diff allclose isclose equal bincount",
    shapes: "repeat_interleave split chunk tensor_split unbind reshape permute squeeze flatten unflatten t transpose select narrow "
            "roll flip movedim unfold diag_embed tile",
    indexing: "gather take_along_dim take index_select masked_select masked_fill masked_scatter scatter scatter_add scatter_reduce "
              "index_add index_copy index_fill index_put isin argwhere count_nonzero select_scatter",
    linear: "addmm addmv addbmm baddbmm addr lerp addcmul addcdiv",
    creation: "bernoulli multinomial",
}
for _module, _names in _OF_MODULES.items():
    for _name in _names.split():
        FUNCTIONS[_name] = getattr(_module, _name)
#: Functions that are no methods.
FUNCTIONS |= {name: getattr(module, name) for module, names in {
    reductions: "var_mean std_mean", indexing: "where", linear: "einsum meshgrid block_diag",
    shapes: "cat stack hstack vstack column_stack atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_shapes"}.items()
    for name in names.split()}
_ALIASES = {
    "concat": "cat", "concatenate": "cat", "swapaxes": "transpose", "swapdims": "transpose", "moveaxis": "movedim",
    "row_stack": "vstack",
}
FUNCTIONS |= {name: FUNCTIONS[known] for name, known in _ALIASES.items()}


def unsqueeze(input, dim):
    """A new axis of length 1 at `dim`."""
    return movements.expand_dims(kinds.operand(input), dim)


FUNCTIONS["unsqueeze"] = unsqueeze
for _name in ("max", "min", "unsqueeze", "swapaxes", "swapdims", "moveaxis",
              *[n for names in _OF_MODULES.values() for n in names.split()]):
    setattr(Tensor, _name, FUNCTIONS[_name])
for _name in ("repeat", "view", "expand"):
    setattr(Tensor, _name, getattr(shapes, _name))
for _name in ("masked_fill", "masked_scatter", "scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill",
              "index_put", "addmm", "addmv", "addbmm", "baddbmm", "addr", "lerp", "addcmul", "addcdiv"):
    setattr(Tensor, f"{_name}_", written.in_place(FUNCTIONS[_name], f"{_name}_"))
for _name in ("zero_", "fill_", "fill_diagonal_", "apply_", "copy_", "normal_", "uniform_", "bernoulli_", "exponential_",
              "random_"):
    setattr(Tensor, _name, getattr(written, _name))


def _method(name, make, doc):
    make.__name__, make.__doc__ = name, doc
    setattr(Tensor, name, make)


def _summed_to(self, *size):
    """This tensor summed to a shape from which it could be broadcast; integers add up in int64."""
    size = shapes.unpacked(size)
    x = self if self.dtype.kind not in "biu" or tuple(size) == tuple(self.shape) else counted(self)
    return arrays.fit(x, (size, x.dtype))


for _name, _dtype in {"float": float32, "double": float64, "half": float16, "bfloat16": bfloat16, "long": int64, "int": int32,
                      "short": int16, "char": int8, "byte": uint8, "bool": boolean}.items():
    _method(_name, (lambda to: lambda self, memory_format=None: self.to(to))(_dtype), f"The elements as {_dtype}.")
for _name, _dtype in {"cfloat": complex64, "cdouble": complex128}.items():
    _method(_name, (lambda to: lambda self, memory_format=None: self.to(to))(_dtype), f"The elements as {_dtype}.")
for _name in ("view", "reshape"):
    _method(f"{_name}_as", (lambda change: lambda self, other: getattr(self, change)(tuple(other.shape)))(_name),
            "In the shape of another tensor.")
_method("expand_as", lambda self, other: shapes.expand(self, tuple(other.shape)), "Repeated to the shape of another tensor.")
_method("where", lambda self, condition, other: indexing.where(condition, self, other), "The elements where a condition holds.")
_method("clamp_min", lambda self, min: self.clamp(min=min), "No element below a bound.")
_method("clamp_max", lambda self, max: self.clamp(max=max), "No element above a bound.")
_method("sum_to_size", _summed_to, "Summed to a shape.")
for _name in ("zeros", "ones", "empty"):
    _method(f"new_{_name}", (lambda make: lambda self, *size, dtype=None, **named: make(*size, dtype=dtype or self.dtype, **named))(
        getattr(creation, _name)), f"`{_name}` of the dtype of this tensor.")

def _operator(name, function):
    def forward(x, y):
        return function(x, y) if is_operand(y) else NotImplemented

    def backward(x, y):
        return function(y, x) if is_operand(y) else NotImplemented

    setattr(Tensor, f"__{name}__", forward)
    if name not in ("lt", "le", "gt", "ge"):
        setattr(Tensor, f"__r{name}__", backward)
        setattr(Tensor, f"__i{name}__", assigning(function, f"__i{name}__"))


def _promoting(op):
    promoted = kinds.promoted
    return lambda x, y: op(*promoted(x, y))


for _name, _op in {"add": arithmetic.add, "sub": arithmetic.subtract, "mul": arithmetic.multiply, "truediv": divided,
                   "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "pow": arithmetic.power,
                   "and": comparisons.bitwise_and, "or": comparisons.bitwise_or, "xor": comparisons.bitwise_xor,
                   "lt": comparisons.less, "le": comparisons.less_equal, "gt": comparisons.greater,
                   "ge": comparisons.greater_equal}.items():
    _operator(_name, _promoting(_op))
for _name in ("lshift", "rshift"):
    _operator(_name, FUNCTIONS[{"lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}[_name]])
_operator("matmul", contractions.matmul)

#: Ufuncs of NumPy's that a tensor is an operand of, by the names of functions here.
UFUNCS |= {ufunc: FUNCTIONS[name] for ufunc, name in {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow", "equal": "eq",
    "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "maximum": "maximum",
    "minimum": "minimum", "floor_divide": "floor_divide", "remainder": "remainder", "sqrt": "sqrt", "exp": "exp", "log": "log",
    "sin": "sin", "cos": "cos", "tanh": "tanh", "absolute": "abs"}.items()}

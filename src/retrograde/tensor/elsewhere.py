"""What goes by other names in other libraries: what to write here instead, for the errors of unknown attributes."""

import sys
from opcode import opmap

from ..errors import DTypeError

_TYPES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32", "short": "int16",
          "bool": "bool_"}
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "mm": "@", "bmm": "@", "mv": "@", "add_": "+=",
          "sub_": "-=", "mul_": "*=", "div_": "/="}

#: NumPy's functions, which take tensors, under the names that PyTorch has as well.
_OF_NUMPY = ("allclose", "atleast_2d", "bincount", "column_stack", "cov", "fliplr", "flipud", "fmod", "heaviside", "hstack",
             "isclose", "nan_to_num", "nanmean", "nansum", "rot90", "trapezoid", "tril_indices", "triu_indices", "vander", "vstack")
_OF_LINALG = {"inverse": "inv", "qr": "qr", "slogdet": "slogdet", "svd": "svd"}
_OF_FUNCTIONS = ("batch_norm", "celu", "cosine_similarity", "ctc_loss", "group_norm", "instance_norm", "kl_div", "layer_norm",
                 "pairwise_distance", "pixel_shuffle", "prelu", "rrelu", "threshold")
#: Methods and attributes of tensors.
OF_TENSORS = {
    **{name: f"np.{name}(x)" for name in _OF_NUMPY if "stack" not in name},
    **{name: f"rg.linalg.{ours}(x)" for name, ours in _OF_LINALG.items()},
    **{name: f"rg.{name}(x, y)" for name in ("atan2", "hypot", "kron", "logaddexp", "maximum", "minimum")},
    **{name: f"rg.{name}(x)" for name in ("count_nonzero", "diag", "logical_not", "logit", "rsqrt")},
    "logical_and": "x & y", "logical_or": "x | y", "masked_select": "x[mask]", "select": "x[i]", "narrow": "x[start:stop]",
    "unique": "rg.unique_values(x)", "repeat_interleave": "x.repeat(n, axis)", "index_select": "x.take(indices, axis)",
    "movedim": "x.moveaxis(a, b)", "lerp": "x + (y - x) * weight", "expand_as": "x.broadcast_to(y.shape)",
    "view_as": "x.reshape(y.shape)", "reshape_as": "x.reshape(y.shape)", "byte": "x.astype(rg.uint8)",
    "new_full": "rg.full(shape, value, dtype=x.dtype)", "new_tensor": "rg.tensor(data, dtype=x.dtype)",
    "clamp_min": "x.clip(low, None)", "clamp_max": "x.clip(None, high)", "addmm": "x + a @ b", "element_size": "x.itemsize",
    "ndimension": "x.ndim", "grad_fn": "rg.debug.show(x)", "multinomial": "rg.random.categorical(rg.log(x))",
    **{name: f"x.astype(rg.{dtype})" for name, dtype in _TYPES.items()},
    **{name: f"x {sign} y" for name, sign in _SIGNS.items()},
    **{name: f"rg.{name}(x)" for name in ("isnan", "isinf", "isfinite", "where")},
    "type": "x.astype(dtype)", "clamp": "x.clip(low, high)", "numel": "x.size", "nelement": "x.size", "dim": "x.ndim", "t": "x.T",
    "chunk": "rg.split(x, n)", "cat": "rg.concat([x, y])", "is_cuda": "x.device", "new_zeros": "rg.zeros(shape, dtype=x.dtype)",
    "clamp_": "x[...] = x.clip(low, high)", "normal_": "rg.nn.init.normal_(x)", "uniform_": "rg.nn.init.uniform_(x)",
    "type_as": "x.astype(y.dtype)", "cuda": 'x.to("cuda")', "is_floating_point": "rg.isdtype(x.dtype, 'real floating')",
    "new_ones": "rg.ones(shape, dtype=x.dtype)", "amax": "x.max(axis=...)", "amin": "x.min(axis=...)",
    "scatter_add": "x + rg.add_along_axis(y, x.shape, indices, axis)", "lerp_": "x += (y - x) * weight",
    "index_add": "x + rg.segment_sum(y, indices, x.shape[0])", "masked_fill_": "x[mask] = value", "unflatten": "x.reshape(shape)",
    "bfloat16": "x.astype(rg.bfloat16)", "addcmul_": "x += value * a * b", "addcdiv_": "x += value * a / b",
    "unfold": "rg.unfold(x, axis, size, step)", "at": "x[i] = y, to a copy, x.clone(), if x is still needed",
    "block_until_ready": "x: the numbers are there when a call returns", "logdet": "rg.linalg.slogdet(x)[1]",
}
#: Names of the package.
OF_PACKAGE = {
    "cat": "rg.concat", "clamp": "rg.clip", "from_numpy": "rg.asarray", "as_tensor": "rg.asarray", "array": "rg.tensor",
    "eq": "rg.equal", "ne": "rg.not_equal", "lt": "rg.less", "le": "rg.less_equal", "gt": "rg.greater", "ge": "rg.greater_equal",
    "mm": "rg.matmul", "bmm": "rg.matmul", "dot": "rg.vecdot", "numel": "x.size", "is_tensor": "isinstance(x, rg.Tensor)",
    "chunk": "rg.split", "randint_like": "rg.randint", "randperm": "rg.permutation", "float": "rg.float32", "double": "rg.float64",
    "long": "rg.int64", "int": "rg.int32", "utils": "rg.nn.utils, or rg.data.Loader, or retrograde.torch.utils.data,",
    "multinomial": "rg.random.categorical, of logarithms of chances,",
    "autograd": "rg.grad, or y.backward(inputs=[x], create_graph=True) and x.grad, and rg.Function,",
    **{name: f"np.{name}" for name in _OF_NUMPY}, **{name: f"rg.linalg.{ours}" for name, ours in _OF_LINALG.items()},
    **{name: f"rg.nn.functional.{name}" for name in _OF_FUNCTIONS},
    **dict.fromkeys(("FloatTensor", "DoubleTensor", "LongTensor", "IntTensor", "BoolTensor"), "rg.tensor(data, dtype=...)"),
    **dict.fromkeys(("cuda", "device"), 'the name of a device, such as "cpu" or "cuda:0",'),
    "amp": "rg.autocast", "half": "x.astype(rg.float16)",
    "compile": "rg.jit", "unique": "rg.unique_values", "unsqueeze": "rg.expand_dims", "movedim": "rg.moveaxis",
    "mv": "rg.matmul", "index_select": "rg.take", "masked_select": "x[mask]", "repeat_interleave": "rg.repeat",
    "range": "rg.arange", "Size": "tuple", "unbind": "rg.unstack", "addmm": "x + a @ b", "is_grad_enabled": "rg.is_recording",
    "distributions": "rg.random", "promote_types": "rg.result_type", "clone": "x.clone", "detach": "x.detach",
    "func": "rg.grad, rg.vmap and so on,", "logdet": "rg.linalg.slogdet(x)[1]", "baddbmm": "x + a @ b",
    "cholesky_solve": "rg.linalg.solve_triangular, for the factor and for its transpose with upper=True,",
    "index_add": "x + rg.segment_sum(y, indices, x.shape[0])", "one_hot": "rg.nn.functional.one_hot",
    "Module": "rg.nn.Module", "lerp": "x + (y - x) * weight",
    "lax": "rg.scan, rg.while_loop, rg.fori_loop, rg.cond and rg.switch,", "associative_scan": "rg.linear_recurrence, or rg.scan,",
    "tree_util": "rg.tree", **{f"tree_{name}": f"rg.tree.{name}" for name in ("map", "leaves", "flatten", "structure")},
    **dict.fromkeys(("custom_vjp", "custom_jvp"), "rg.Function, or an op of your own with defvjp,"), "remat": "rg.checkpoint",
    "map": "rg.vmap, or rg.scan,", "pmap": "rg.vmap, and threads, which need no call,", "disable_jit": "f.__wrapped__",
    **dict.fromkeys(("make_jaxpr", "eval_shape"), "rg.debug.show, in the function,"), "device_put": "x.to",
    "dynamic_slice": "x.take(start + np.arange(size), axis)", "dynamic_update_slice": "x[start + np.arange(size)] = y",
}


_KEYS = "a Generator(seed), or rg.manual_seed(seed); what draws moves on by itself,"
#: Names of modules of the package.
OF_MODULES = {
    "random": {
        **dict.fromkeys(("PRNGKey", "key", "split", "fold_in"), _KEYS), "seed": "rg.manual_seed", "shuffle": "permutation",
        "multivariate_normal": "mean + factor @ rg.randn(n), with the Cholesky factor of the covariance,",
        "multinomial": "rg.random.categorical"},
    "linalg": {"cho_solve": "retrograde.scipy.linalg.cho_solve", "cho_factor": "rg.linalg.cholesky", "inverse": "rg.linalg.inv",
               "solve_ex": "rg.linalg.solve", "expm": "rg.linalg.matrix_exp"},
    "data": dict.fromkeys(("DataLoader", "Dataset", "TensorDataset"), "rg.data.Loader, or retrograde.torch.utils.data"),
    "debug": {"print": "print, for a shape, and what the function returns, for numbers,"},
}


def absent_from(module):
    """The `__getattr__` of a `module` of the package, given by its name: it says what to write for names of other libraries."""
    hints = OF_MODULES[module.rpartition(".")[2]]

    def missing(name):
        hint = f"; it is {hints[name]} here" if name in hints else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")

    return missing


class Absent:
    """In the place of an attribute that there is not: says what to write. A `__getattr__` would make all reads slower."""

    def __init__(self, name, instead):
        self._name, self._instead = name, instead

    def __get__(self, owner, kind=None):
        raise AttributeError(f"a tensor has no attribute {self._name!r}; write {self._instead}", name=self._name, obj=owner)


#: How Python reads an attribute that it calls at once, as in `x.size(0)`: by an instruction of its own, from 3.12 on by the
#: ordinary one with an odd operand. Caches of an instruction stand after it.
_LOAD_METHOD, _LOAD_ATTR = opmap.get("LOAD_METHOD"), opmap.get("LOAD_ATTR")
_CACHE, _EXTENDED_ARG = opmap.get("CACHE", 0), opmap["EXTENDED_ARG"]


def _reads_method(code, i):
    """Whether the instruction at `i` of the bytes `code` reads an attribute that is called at once."""
    return code[i] == _LOAD_METHOD or (_LOAD_METHOD is None and code[i] == _LOAD_ATTR and code[i + 1] & 1)


def number_of_elements(read):
    """The property `size`, an int, which says what to write where it is called as PyTorch's method is.

    An int of a class of its own could say that when it is called, but NumPy takes such a one for an array of int64: a float32
    array divided by it would be float64. So the instruction that reads the property is looked at instead.
    """

    def size(x):
        frame = sys._getframe(1)
        if _reads_method(frame.f_code.co_code, frame.f_lasti):
            raise DTypeError("x.size is the number of elements here, not a method; write x.shape for x.size(), and x.shape[0] for "
                             "x.size(0)")
        return read(x)

    return property(size, doc="Number of elements.")


def array_of(x):
    """The property `data`, the array of a tensor, which says what to write where a method of PyTorch's tensors is called on it.

    The array is NumPy's and not ours, so the instruction that reads the method is looked at.
    """
    array = x.raw
    name = _method_read_next(sys._getframe(1))
    if name is not None and not x.is_traced and not hasattr(array, name) and (name in OF_TENSORS or hasattr(type(x), name)):
        kind = f"{type(array).__module__}.{type(array).__name__}"
        raise AttributeError(f"x.data is the array of x here, a {kind}, which has no {name!r}; write, within rg.no_grad(), "
                             f"{OF_TENSORS.get(name, f'x.{name}(...)')}", name=name, obj=array)
    return array


def _method_read_next(frame):
    """The name of the method that `frame` reads of the attribute which it is reading now; None if it reads none."""
    code, i, operand = frame.f_code.co_code, frame.f_lasti + 2, 0
    if code[frame.f_lasti] != _LOAD_ATTR:
        return None
    while code[i] == _CACHE:
        i += 2
    while code[i] == _EXTENDED_ARG:
        operand, i = (operand | code[i + 1]) << 8, i + 2
    if not _reads_method(code, i):
        return None
    return frame.f_code.co_names[(operand | code[i + 1]) >> (_LOAD_METHOD is None)]

"""Programs run by JAX and PyTorch: their source as it is, with other functions behind its names."""

import importlib
from types import FunctionType

import numpy as np


class Missing(Exception):  # noqa: N818 - no fault
    """The other library is not installed, or has not got what a program uses."""


#: Names that mean something else there: another default, another order of results.
OTHERS = frozenset("gelu gelu_erf gelu_tanh norm quantile nanquantile topk cond switch scan split tensordot unique resize take vmap grad jit sqrtm select".split())
CONSTANTS = ("array", "zeros", "eye", "float32", "float64", "int64", "dtype", "inf", "nan")
UNARY = """sin cos tanh sigmoid square exp expm1 log1p relu abs negative sqrt sign floor ceil round trunc asin acos atan sinh cosh asinh acosh atanh erf erfc
log log2 log10 exp2 reciprocal rsqrt maximum minimum hypot atan2 logaddexp where matmul outer einsum stack flip tril triu broadcast_to lgamma digamma""".split()


class JaxNames:
    """Functions of JAX by our names."""

    def __init__(self):
        self.places = [importlib.import_module(name) for name in ("jax.numpy", "jax.nn", "jax.scipy.special")]

    def __getattr__(self, name):
        found = [getattr(place, name) for place in self.places if name not in OTHERS and hasattr(place, name)]
        if not found:
            raise Missing(name)
        return found[0]


class TorchNames:
    """Functions of PyTorch by our names."""

    def __init__(self):
        self.torch = importlib.import_module("torch")

    def __getattr__(self, name):
        torch = self.torch
        if name in UNARY:
            return getattr(torch, name)
        known = {
            "sum": torch.sum, "mean": torch.mean, "softmax": lambda x, axis: torch.softmax(x, axis), "log_softmax": lambda x, axis: torch.log_softmax(x, axis),
            "max": lambda x, axis=None, keepdims=False: torch.amax(x, () if axis is None else axis, keepdims),
            "min": lambda x, axis=None, keepdims=False: torch.amin(x, () if axis is None else axis, keepdims),
            "cumsum": lambda x, axis: torch.cumsum(x, axis), "cumprod": lambda x, axis: torch.cumprod(x, axis),
            "sort": lambda x, axis=-1, descending=False: torch.sort(x, axis, descending)[0],
            "expand_dims": torch.unsqueeze, "permute_dims": torch.permute, "moveaxis": torch.moveaxis, "softplus": torch.nn.functional.softplus,
            "silu": torch.nn.functional.silu, "concatenate": lambda x, axis=0: torch.cat(x, axis), "linalg": torch.linalg,
            "var": lambda x, axis=None, keepdims=False: torch.var(x, axis, correction=0, keepdim=keepdims),
        }
        if name not in known:
            raise Missing(name)
        return known[name]


class _Numpy:
    """NumPy's constants as they are, and functions of the other library."""

    def __init__(self, functions, constant):
        self.functions, self.constant = functions, constant

    def __getattr__(self, name):
        if name in CONSTANTS:
            made = getattr(np, name)
            return (lambda *args, **kwargs: self.constant(made(*args, **kwargs))) if name in ("array", "zeros", "eye") else made
        return getattr(self.functions, name)


def _as_theirs(program, functions, constant):
    return FunctionType(program.__code__, {"rg": functions, "np": _Numpy(functions, constant), "inf": np.inf, "nan": np.nan, "__builtins__": __builtins__})


def by_jax(program, inputs):
    """The results, and the gradients of their sum, by JAX."""
    try:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        theirs = _as_theirs(program, JaxNames(), lambda x: x)
        found = theirs(*inputs)
        slopes = jax.grad(lambda x: sum(z.sum() for z in theirs(*x) if z.dtype.kind == "f"))(tuple(inputs))
        return [np.asarray(x) for x in [*found, *slopes]]
    except Exception as error:  # noqa: BLE001 - whatever it is, the library has not got it
        raise Missing(str(error)[:100]) from None


def by_torch(program, inputs):
    """The results, and the gradients of their sum, by PyTorch."""
    try:
        torch = importlib.import_module("torch")
        theirs = _as_theirs(program, TorchNames(), lambda x: torch.as_tensor(x))
        leaves = [torch.tensor(x, requires_grad=True) for x in inputs]
        found = theirs(*leaves)
        total = sum(z.sum() for z in found if z.is_floating_point())
        slopes = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
        return [x.detach().numpy() for x in [*found, *slopes]]
    except Exception as error:  # noqa: BLE001 - whatever it is, the library has not got it
        raise Missing(str(error)[:100]) from None

"""Programs run by JAX and PyTorch: their source as it is, with other functions behind its names."""

import importlib
import sys
from functools import cache
from pathlib import Path
from types import FunctionType, SimpleNamespace

import numpy as np


class Missing(Exception):  # noqa: N818 - no fault
    """The other library is not installed, or has not got what a program uses."""


#: Names that mean something else in JAX: another default, another order of results.
OTHERS = frozenset("gelu gelu_erf gelu_tanh norm quantile nanquantile topk cond switch scan split tensordot unique resize take vmap grad jit sqrtm select".split())
CONSTANTS = ("float32", "float64", "int64", "dtype", "inf", "nan")
MADE = ("array", "zeros", "eye")
#: Ops of ours whose gradient PyTorch defines otherwise, or leaves out.
UNLIKE = frozenset("hypot max_pool2d_with_taps floor_divide clip scatter_reduce segment_prod segment_max segment_min eigvals lstsq pinv cond matrix_rank quantile median".split())


class JaxNames:
    """Functions of JAX by our names."""

    def __init__(self):
        self.places = [importlib.import_module(name) for name in ("jax.numpy", "jax.nn", "jax.scipy.special")]

    def __getattr__(self, name):
        found = [getattr(place, name) for place in self.places if name not in OTHERS and hasattr(place, name)]
        if not found:
            raise Missing(name)
        return found[0]


@cache
def torch_table():
    """PyTorch's counterparts of our ops by name; empty without PyTorch."""
    tests = Path(__file__).parent.parent
    for folder in (tests, tests / "oracle"):
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    try:
        return importlib.import_module("test_ops_like_torch").THEIRS
    except BaseException as error:
        if type(error).__name__ not in ("Skipped", "ImportError", "ModuleNotFoundError"):
            raise
        return {}


class TorchNames:
    """Functions of PyTorch by our names."""

    def __init__(self):
        torch = importlib.import_module("torch")
        torch.set_default_dtype(torch.float64)

        def of_numbers(function):
            return lambda x, y: function(*(torch.as_tensor(v, dtype=torch.float64) if isinstance(v, (bool, int, float, np.generic)) else v for v in (x, y)))

        self.known = {
            **{name: function for name, function in torch_table().items() if name not in UNLIKE},
            "rsqrt": torch.rsqrt, "einsum": torch.einsum, "swapaxes": torch.swapaxes, "asarray": torch.as_tensor, "detach": torch.detach,
            "maximum": of_numbers(torch.maximum), "minimum": of_numbers(torch.minimum), "gelu": torch.nn.functional.gelu,
            "cummax": torch.cummax, "cummin": torch.cummin, "topk": torch.topk, "unstack": torch.unbind,
            "eigh": torch.linalg.eigh, "cholesky": torch.linalg.cholesky,
            "eigvalsh": torch.linalg.eigvalsh, "slogdet": torch.linalg.slogdet, "svdvals": torch.linalg.svdvals,
        }
        self.ops = SimpleNamespace(get=lambda name: SimpleNamespace(call=getattr(self, name)))
        self.linalg = self

    def __getattr__(self, name):
        if name not in self.known:
            raise Missing(name)
        return self.known[name]


class _Numpy:
    """NumPy's constants as they are, and functions of the other library."""

    def __init__(self, functions, constant):
        self.functions, self.constant = functions, constant

    def __getattr__(self, name):
        if name in CONSTANTS:
            return getattr(np, name)
        made = getattr(np, name) if name in MADE else None
        return getattr(self.functions, name) if made is None else lambda *args, **kwargs: self.constant(made(*args, **kwargs))


def _as_theirs(program, functions, constant):
    return FunctionType(program.__code__, {"rg": functions, "np": _Numpy(functions, constant), "inf": np.inf, "nan": np.nan, "__builtins__": __builtins__})


def by_jax(program, inputs):
    """The results, and the gradients of their sum, by JAX."""
    try:
        jax = importlib.import_module("jax")
        jax.config.update("jax_enable_x64", True)
        theirs = _as_theirs(program, JaxNames(), lambda x: x)
        found = theirs(*inputs)
        floats = [i for i, x in enumerate(inputs) if x.dtype.kind == "f"]

        def total(*given):
            everything = list(inputs)
            for i, x in zip(floats, given, strict=True):
                everything[i] = x
            return sum(z.sum() for z in theirs(*everything) if z.dtype.kind == "f")

        slopes = jax.grad(total, range(len(floats)))(*[inputs[i] for i in floats])
    except Exception as error:  # noqa: BLE001 - whatever it is, the library has not got it
        raise Missing(str(error)[:100]) from None
    return [np.asarray(x) for x in [*found, *slopes]]


def by_torch(program, inputs):
    """The results, and the gradients of their sum, by PyTorch."""
    try:
        torch = importlib.import_module("torch")
        theirs = _as_theirs(program, TorchNames(), torch.as_tensor)
        leaves = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
        found = theirs(*leaves)
        floats = [x for x in leaves if x.requires_grad]
        parts = [z.sum() for z in found if z.is_floating_point() and z.requires_grad]
        slopes = torch.autograd.grad(sum(parts), floats, allow_unused=True, materialize_grads=True) if parts else [torch.zeros_like(x) for x in floats]
    except Exception as error:  # noqa: BLE001 - whatever it is, the library has not got it
        raise Missing(str(error)[:100]) from None
    return [x.detach().numpy() for x in [*found, *slopes]]

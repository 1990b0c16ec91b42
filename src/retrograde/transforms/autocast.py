"""Autocast: products in half precision, and losses and others that need it in float32, by PyTorch's lists of ops on the CPU.

An op's operands are brought to the dtype that it is computed in before it runs; parameters and their gradients keep theirs.
"""

from contextlib import ContextDecorator
from functools import lru_cache
from typing import Any

from ..core.mode import changed
from ..core.value import Value
from ..dtypes import as_dtype, bfloat16, float16, float32
from ..errors import DTypeError
from ..ops.elementary.conversions import astype

#: Ops that autocast computes in low precision: products.
LOW = frozenset(["contract", "conv2d", "conv2d_input", "conv3d", "linear", "matmul"])
#: Ops that it computes in float32. Others follow their operands, softmax and norms among them, as on PyTorch's CPU.
WHOLE = frozenset([
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cdist", "cholesky", "cross_entropy", "eigh_pair", "eigvals",
    "eigvalsh", "eig_pair", "huber_loss", "inv", "l1_loss", "lu_solve", "mse_loss", "nanquantile", "nll_loss", "pinv", "prod",
    "qr_pair", "quantile", "solve", "solve_triangular", "svd_triple", "svdvals",
])
#: Functions that are made of ops here and are one in PyTorch: those that autocast computes in low precision,
LOW_FUNCTIONS = frozenset(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "prelu", "scaled_dot_product_attention"])
#: those in float32,
WHOLE_FUNCTIONS = frozenset([
    "adaptive_avg_pool3d", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool3d", "cosine_embedding_loss",
    "ctc_loss", "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "grid_sample", "hinge_embedding_loss", "kl_div", "lstsq", "lu_solve_with",
    "margin_ranking_loss", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d",
    "multi_margin_loss", "multilabel_margin_loss", "pad_reflect", "pad_replicate", "poisson_nll_loss", "soft_margin_loss", "trace",
    "triplet_margin_loss",
])
#: and those that follow their operands, though a product or a loss is inside.
FOLLOWING = frozenset(["addmv", "mv"])


class _Settling:
    """Brings operands to the dtype that autocast computes an op in, where that is not theirs; `dtype` is that of products."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, op, args):
        wanted = self.dtype if op.name in LOW else float32 if op.name in WHOLE else None
        if wanted is None or op.name == "contract" and not _sums_products(*args):
            return args
        if op.is_variadic:
            return (tuple([cast(x, wanted) for x in args[0]]), *args[1:])
        return tuple([cast(x, wanted) if i in op.operands else x for i, x in enumerate(args)])

    def whole(self, name, args, kwargs):
        """The arguments of the function of a name, which is computed as one; None for one that is the ops that it is made of."""
        if name in FOLLOWING:
            return args, kwargs
        wanted = self.dtype if name in LOW_FUNCTIONS else float32 if name in WHOLE_FUNCTIONS else None
        if wanted is None:
            return None
        return [cast(x, wanted) for x in args], {key: cast(x, wanted) for key, x in kwargs.items()}


_settling = lru_cache(_Settling)


def _sums_products(operands, subscripts):
    """Whether a contraction sums products: not elements of one array, and not a product of elements alone."""
    inputs, _, output = subscripts.partition("->")
    return len(operands) > 1 and ("->" not in subscripts or not set(inputs) - set(", ") <= set(output))


def cast(x, wanted):
    """An operand as numbers of another dtype, if they are floats, of no more than four bytes."""
    return astype(x, wanted) if isinstance(x, Value) and x.dtype != wanted and x.dtype in (float32, float16, bfloat16) else x


class autocast(ContextDecorator):  # noqa: N801 - PyTorch's name
    """Within it products are computed in `dtype`, bfloat16 or float16, and losses and others that need it in float32.

    Weights and their gradients keep their dtype. Also a decorator. A jitted function that is called within it runs op by op,
    and not compiled: enter it in the function to compile what it does.

    >>> with rg.autocast("bfloat16"):
    ...     y = rg.ones(2, 3) @ rg.ones(3, 2)
    >>> y.dtype
    dtype(bfloat16)
    """

    def __init__(self, dtype="bfloat16", enabled=True):
        self.fast_dtype, self.enabled = as_dtype(dtype), enabled
        if self.fast_dtype not in (bfloat16, float16):
            raise DTypeError(f"autocast computes in bfloat16 or float16, got {self.fast_dtype}")
        self._outer: list[Any] = []

    def _recreate_cm(self):
        return autocast(self.fast_dtype, self.enabled)

    def _fields(self) -> dict[str, Any]:
        """What it changes of the mode."""
        return {"settles": _settling(self.fast_dtype), "runs_compiled": False} if self.enabled else {"settles": None}

    def __enter__(self):
        self._outer.append(changed(**self._fields()))
        self._outer[-1].__enter__()
        return self

    def __exit__(self, *error):
        self._outer.pop().__exit__(*error)

"""The names of the package that come of tables, and the methods that stand beside them."""

from . import composed, functions, linalg, nn, sparse, special, windows
from .functions import natives
from .methods import FUNCTIONS
from .tensor import Tensor
from .types import CLASSES, DTYPES
from .written import in_place

#: Functions of layers, and of other modules, that PyTorch has in its package as well: the name there, if it is another one.
_OF_LAYERS = (
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "alpha_dropout", "avg_pool1d", "batch_norm", "bilinear", "celu",
    "channel_shuffle",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
    "cosine_similarity", "ctc_loss", "dropout", "embedding_bag", "feature_alpha_dropout", "group_norm", "hinge_embedding_loss",
    "instance_norm", "layer_norm", "margin_ranking_loss", "max_pool1d", "max_pool2d", "max_pool3d", "pairwise_distance", "pdist",
    "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "rms_norm", "rrelu", "selu", "threshold",
    "triplet_margin_loss",
)
_OF_LINALG = {"cholesky": "cholesky", "det": "det", "matrix_exp": "matrix_exp", "matrix_power": "matrix_power", "pinverse": "pinv",
              "slogdet": "slogdet", "inverse": "inv", "qr": "qr"}
_OF_SPECIAL = {"i0": "i0", "polygamma": "polygamma", "mvlgamma": "multigammaln", "igamma": "gammainc", "igammac": "gammaincc"}


def logdet(input):
    """The logarithm of the determinant; unknown where that is negative."""
    sign, size = linalg.slogdet(input)
    return size.masked_fill(sign < 0, float("nan"))


def svd(input, some=True, compute_uv=True):
    """U, singular values and V, of which `input` is U S V conjugate transposed."""
    left, sizes, right = linalg.svd(input, full_matrices=not some)
    return left, sizes, right.mT.conj()


def vander(x, N=None, increasing=False):
    """The powers of the elements of a vector, as the columns of a matrix."""
    found = linalg.vander(x, N)
    return found if increasing else found.flip(-1)


def embedding(weight, input, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The rows of `weight` at the positions `input`."""
    return nn.functional.embedding(input, weight, None if padding_idx < 0 else padding_idx)


def _polygamma(self, n):
    """The derivative of order `n` of the digamma function."""
    return special.polygamma(n, self)


def fill(input, value):
    """A tensor of one number, in the shape and dtype of `input`."""
    return input.clone().fill_(value)


def _written_by(name):
    """The function `name`, which writes to its first argument."""
    def write(input, *args, **kwargs):
        return getattr(input, name)(*args, **kwargs)

    write.__name__, write.__doc__ = name, f"`x.{name}(...)` as a function."
    return write


def _all_of(module):
    return {name: getattr(module, name) for name in module.__all__}


_OWN = {
    **{name: getattr(linalg, ours) for name, ours in _OF_LINALG.items()},
    **{name: getattr(special, ours) for name, ours in _OF_SPECIAL.items()},
    **_all_of(composed), "orgqr": linalg.householder_product, "logdet": logdet, "svd": svd,
}
_METHODS = {name: function for name, function in functions.NAMES.items() if name in functions.METHODS}
for _name, _function in {**_OWN, **_METHODS, "polygamma": _polygamma, "prelu": nn.functional.prelu}.items():
    if _name not in vars(Tensor):
        setattr(Tensor, _name, _function)
for _name in ("clamp_max", "clamp_min", "deg2rad", "gcd", "heaviside", "i0", "igamma", "igammac", "index_reduce", "lcm", "ldexp",
              "mvlgamma", "nan_to_num", "put", "rad2deg", "renorm"):
    setattr(Tensor, f"{_name}_", in_place(getattr(Tensor, _name), f"{_name}_"))
#: Functions that write to their first argument.
_IN_PLACE = {name: _written_by(name) for name in vars(Tensor) if name.endswith("_") and not name.endswith("__")
             and name not in ("requires_grad_", "share_memory_", "detach_")}
#: All of them.
NAMES = {
    **_IN_PLACE, **DTYPES, **CLASSES, **FUNCTIONS, **{name: getattr(nn.functional, name) for name in _OF_LAYERS}, **_OWN,
    **functions.NAMES, **_all_of(natives), **_all_of(windows), "vander": vander, "embedding": embedding, "fill": fill,
    "_segment_reduce": natives.segment_reduce, **sparse.NAMES,
}
for _name, _function in sparse.METHODS.items():
    setattr(Tensor, _name, _function)

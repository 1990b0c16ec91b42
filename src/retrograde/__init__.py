"""retrograde: automatic differentiation for numbers and text.

>>> x = rg.tensor([1.0, 2.0], requires_grad=True)
>>> rg.sin(x).sum().backward()
>>> x.grad
tensor([ 0.5403023 , -0.41614684])
"""

import importlib.util
from math import e, inf, nan, pi
from typing import TYPE_CHECKING, Any

from . import core, dtypes, errors, extras, fft, imports, linalg, ops, random, shapes, tree
from .core.function import Function
from .core.gradient import backward
from .core.mode import detect_anomaly, enable_grad, inference_mode, is_recording, no_grad, set_grad_enabled
from .dtypes import (
    bfloat16,
    bool_,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .dtypes import bool_ as bool
from .ops._native import native
from .ops.axes.finding import count_nonzero, isin, nonzero, searchsorted, unique_all, unique_counts, unique_inverse, unique_values
from .ops.axes.products import cumprod, cumsum, linear_recurrence, prod
from .ops.axes.rankings import median, nanmedian, nanquantile, quantile, topk
from .ops.axes.reductions import logsumexp, max, mean, min, norm, sum
from .ops.axes.reductions import max as amax
from .ops.axes.reductions import min as amin
from .ops.axes.running import cummax, cummin, cumulative_prod, cumulative_sum, diff
from .ops.axes.searches import all, any, argmax, argmin
from .ops.axes.sorting import argsort, sort
from .ops.axes.spreads import std, var
from .ops.complexes import angle, complex, conj, imag, polar, real, view_as_complex, view_as_real
from .ops.complexes import conj as conjugate
from .ops.elementary.arithmetic import (
    abs,
    add,
    cbrt,
    divide,
    floor_divide,
    multiply,
    negative,
    positive,
    power,
    reciprocal,
    remainder,
    rsqrt,
    sign,
    sqrt,
    square,
    subtract,
)
from .ops.elementary.arithmetic import abs as absolute
from .ops.elementary.arithmetic import divide as div
from .ops.elementary.arithmetic import divide as true_divide
from .ops.elementary.arithmetic import multiply as mul
from .ops.elementary.arithmetic import negative as neg
from .ops.elementary.arithmetic import negative as negate
from .ops.elementary.arithmetic import power as pow
from .ops.elementary.arithmetic import remainder as mod
from .ops.elementary.arithmetic import subtract as sub
from .ops.elementary.bits import bitwise_left_shift, bitwise_right_shift, copysign, nextafter, signbit
from .ops.elementary.bits import bitwise_left_shift as left_shift
from .ops.elementary.bits import bitwise_right_shift as right_shift
from .ops.elementary.comparisons import (
    bitwise_and,
    bitwise_invert,
    bitwise_or,
    bitwise_xor,
    clip,
    equal,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    not_equal,
    where,
)
from .ops.elementary.comparisons import bitwise_invert as bitwise_not
from .ops.elementary.conversions import astype, bitcast, contiguous, contiguous_backward, copy_to_device
from .ops.elementary.conversions import astype as cast
from .ops.elementary.conversions import copy_to_device as to_device
from .ops.elementary.exponential import exp, exp2, expm1, log, log1p, log2, log10, logaddexp
from .ops.elementary.exponential import log as ln
from .ops.elementary.hyperbolic import acosh, asinh, atanh, cosh, sinh
from .ops.elementary.hyperbolic import acosh as arccosh
from .ops.elementary.hyperbolic import asinh as arcsinh
from .ops.elementary.hyperbolic import atanh as arctanh
from .ops.elementary.rounding import ceil, floor, round, trunc
from .ops.elementary.rounding import round as rint
from .ops.elementary.rounding import trunc as fix
from .ops.elementary.trigonometric import acos, asin, atan, atan2, cos, hypot, sin, sinc, tan, tanh
from .ops.elementary.trigonometric import acos as arccos
from .ops.elementary.trigonometric import asin as arcsin
from .ops.elementary.trigonometric import atan as arctan
from .ops.elementary.trigonometric import atan2 as arctan2
from .ops.images.convolution import conv1d, conv2d
from .ops.images.convolutions import conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d
from .ops.images.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d
from .ops.images.resampling import interpolate
from .ops.images.windows import (
    adaptive_avg_pool1d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool2d,
    adaptive_max_pool3d,
    avg_pool1d,
    avg_pool3d,
    lp_pool2d,
    max_pool1d,
    max_pool3d,
)
from .ops.linalg.contractions import einsum, matmul, outer
from .ops.linalg.distances import cdist
from .ops.linalg.integer_products import integer_matmul
from .ops.linalg.matrices import diag, diagonal, trace, tril, triu
from .ops.linalg.sylvester import solve_banded, solve_sylvester, sqrtm
from .ops.linalg.tensors import kron, tensordot, vecdot
from .ops.manipulation.borders import pad
from .ops.manipulation.gathering import add_along_axis, take, take_along_axis
from .ops.manipulation.grids import broadcast_arrays, masked_fill, meshgrid, unstack
from .ops.manipulation.joins import concatenate, stack
from .ops.manipulation.joins import concatenate as concat
from .ops.manipulation.movements import (
    broadcast_to,
    expand_dims,
    flatten,
    flip,
    matrix_transpose,
    moveaxis,
    permute_dims,
    ravel,
    reshape,
    shrink,
    squeeze,
    transpose,
)
from .ops.manipulation.movements import broadcast_to as expand
from .ops.manipulation.movements import permute_dims as permute
from .ops.manipulation.movements import transpose as swapaxes
from .ops.manipulation.patches import columns_to_image, image_to_columns, unfold
from .ops.manipulation.repetition import repeat, roll, split, tile
from .ops.manipulation.scattering import gather, scatter, scatter_reduce
from .ops.manipulation.segments import segment_max, segment_mean, segment_min, segment_prod, segment_sum
from .ops.manipulation.selections import scatter_add, set_at
from .ops.networks.activation import (
    elu,
    gelu,
    hardswish,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    mish,
    relu,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
)
from .ops.networks.activation import log_sigmoid as logsigmoid
from .ops.networks.activation import silu as swish
from .ops.networks.cached_attention import cached_attention
from .ops.networks.classification import cross_entropy, nll_loss
from .ops.networks.embeddings import embedding
from .ops.networks.linear import linear
from .ops.networks.loss import binary_cross_entropy, binary_cross_entropy_with_logits, huber_loss, l1_loss, mse_loss, smooth_l1_loss
from .ops.networks.loss import l1_loss as mae_loss
from .ops.networks.normalization import rms_norm, standardize
from .ops.networks.quantized import dequantize, quantized_linear
from .ops.random.draws import Generator, get_rng_state, manual_seed, preserved_state, set_rng_state
from .ops.random.dropout import dropout, feature_dropout
from .ops.special.bessel import bessel_i, bessel_ie, bessel_j, bessel_y, i0, i0e, i1, i1e
from .ops.special.entropies import entr, logit, xlog1py, xlogy
from .ops.special.error_function import erf, erfc
from .ops.special.gamma import beta, gamma, regularized_beta, rgamma
from .ops.special.incomplete import gammainc, gammaincc
from .ops.special.log_gamma import betaln, digamma, lgamma, multigammaln, polygamma
from .ops.special.log_gamma import digamma as psi
from .ops.special.log_gamma import lgamma as gammaln
from .ops.special.normal import erfcinv, erfcx, erfinv, log_ndtr, ndtr, ndtri
from .tensor.creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    tensor,
    zeros,
    zeros_like,
)
from .tensor.elsewhere import OF_PACKAGE as _OF_PACKAGE
from .tensor.random import bernoulli, normal, permutation, rand, rand_like, randint, randn, randn_like, uniform
from .tensor.tensor import Tensor
from .transforms.checkpoint import checkpoint
from .transforms.grad import grad, hessian, jacobian, stop_gradient, value_and_grad, vjp

__version__ = "0.1.0"
newaxis = None

if TYPE_CHECKING:  # The names that are loaded late, for those who read code rather than run it.
    from . import (
        data,
        debug,
        deploy,
        extend,
        io,
        misc,
        models,
        nn,
        numpy,
        onnx,
        optim,
        runs,
        runtime,
        scipy,
        special,
        test_util,
        testing,
        text,
        tracer,
        train,
        viz,
        wrap_util,
    )
    from .builtins import dict, isinstance, list, tuple
    from .compiler.backends import get_num_threads, set_num_threads
    from .extend import primitive
    from .io.weights import load, save
    from .nn.parameter import Parameter
    from .nn.quantized import quantize
    from .precision import get_convolution_precision, set_convolution_precision
    from .runs.loading import load_run
    from .runs.saving import save_run
    from .tensor.namespace import (
        __array_api_version__,
        __array_namespace_info__,
        can_cast,
        finfo,
        from_dlpack,
        iinfo,
        isdtype,
        result_type,
    )
    from .transforms.autocast import autocast
    from .transforms.forward import jacfwd, jvp, linearize
    from .transforms.grad import jacrev
    from .transforms.jit import jit
    from .transforms.lazy import lazy, realize
    from .transforms.loops import cond, fori_loop, switch, while_loop
    from .transforms.scan import scan
    from .transforms.vmap import vmap

#: What not everybody needs, and where it is: it is loaded by those who use it.
_LATE = {
    **dict.fromkeys(("cond", "fori_loop", "switch", "while_loop"), "transforms.loops"),
    **dict.fromkeys(("get_num_threads", "set_num_threads"), "compiler.backends"),
    **dict.fromkeys(("get_convolution_precision", "set_convolution_precision"), "precision"),
    **dict.fromkeys(("lazy", "realize"), "transforms.lazy"),
    **dict.fromkeys(("load", "save"), "io.weights"), "load_run": "runs.loading", "save_run": "runs.saving",
    "sweep": "sweeps.sweep",
    **dict.fromkeys(("extend", "primitive"), "extend"),
    **dict.fromkeys((
        "__array_api_version__", "__array_namespace_info__", "can_cast", "finfo", "from_dlpack", "iinfo", "isdtype",
        "result_type"), "tensor.namespace"),
    **dict.fromkeys((
        "deriv", "elementwise_grad", "grad_and_aux", "grad_named", "hessian_tensor_product", "hessian_vector_product",
        "holomorphic_grad", "make_ggnvp", "make_hvp", "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict",
        "tensor_jacobian_product", "vector_jacobian_product"), "transforms.products"),
    **{name: name for name in (
        "data", "debug", "deploy", "distributed", "io", "misc", "models", "nn", "numpy", "onnx", "optim", "runs", "runtime",
        "scipy", "serve", "sklearn", "special", "sweeps", "test_util", "testing", "text", "tracer", "train", "viz", "wrap_util")},
    **dict.fromkeys(("dict", "isinstance", "list", "tuple"), "builtins"),
    "Parameter": "nn.parameter", "quantize": "nn.quantized",
    "autocast": "transforms.autocast", "jit": "transforms.jit", "scan": "transforms.scan", "vmap": "transforms.vmap",
    **dict.fromkeys(("jacfwd", "jvp", "linearize"), "transforms.forward"), "jacrev": "transforms.grad",
}
#: What autograd keeps in its core, and where it is here.
_OF_CORE = {
    **dict.fromkeys(("make_jvp", "make_vjp"), "transforms.unary"),
    **dict.fromkeys(("VSpace", "vspace"), "spaces"),
    **dict.fromkeys((
        "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums", "primitive",
        "primitive_vjps"), "extend"),
}

#: What runs the weights of a `text.LocalModel`, and where it is.
_ENGINES = {"llama.cpp": ("text.models.llama_cpp", "LlamaCpp"), "retrograde": ("models.engine", "NetworkEngine")}


def _engine(name):
    module, kind = _ENGINES[name]
    return getattr(importlib.import_module(f"retrograde.{module}"), kind)


def _of_core(name):
    if name not in _OF_CORE:
        raise AttributeError(f"retrograde.core has no attribute {name!r}")
    return getattr(importlib.import_module(f"retrograde.{_OF_CORE[name]}"), name)


core.provide(_of_core)
extras.engines.update({name: lambda name=name: _engine(name) for name in _ENGINES})
imports.watch()
native.provide(lambda name: importlib.import_module("retrograde.compiler.calls.eager").eager(name))


def __getattr__(name) -> Any:
    if name in _LATE:
        if _LATE[name] == "compiler.backends" and importlib.util.find_spec("llvmlite") is None:
            extras.optional("llvmlite", "jit")
        module = importlib.import_module(f"retrograde.{_LATE[name]}")
        # A module that has a function of its own name, as `serve` does, is what imports leave here.
        return module if _LATE[name] == name else getattr(module, name, module)
    # An op that this list lacks, ours or a user's.
    if name in ops.names() or name in ops.aliases():
        if (op := ops.get(name)).is_public:
            return op.call
        raise AttributeError(f"retrograde has no attribute {name!r}: that is an op inside of others; rg.ops.get({name!r}) finds it")
    hint = f"; it is {_OF_PACKAGE[name]} here" if name in _OF_PACKAGE else ""
    raise AttributeError(f"retrograde has no attribute {name!r}{hint}")


def __dir__():
    return sorted({*globals(), *_LATE})

"""PyTorch's spelling and meaning over the same values, graph, ops and compiler: `import retrograde.torch as torch`.

>>> import retrograde.torch as torch
>>> x = torch.tensor([[1.0, 5.0], [4.0, 2.0]], requires_grad=True)
>>> x.max(dim=1).values.sum().backward()
>>> x.grad
tensor([[0., 1.],
        [1., 0.]])
"""

from math import e, inf, nan, pi
from types import SimpleNamespace as _Names

from ..tensor.namespace import finfo, iinfo
from . import (
    accelerator,
    amp,
    autograd,
    backends,
    cpu,
    cuda,
    distributions,
    fft,
    func,
    jit,
    linalg,
    masked,
    mps,
    nn,
    onnx,
    optim,
    random,
    serialization,
    signal,
    sparse,
    special,
    utils,
    xpu,
)
from .absent import absent_from as _absent_from
from .amp import autocast, get_autocast_dtype, is_autocast_enabled
from .compiled import CompileWarning, compile
from .creation import (
    arange,
    as_tensor,
    asarray,
    cartesian_prod,
    complex,
    empty,
    empty_like,
    eye,
    from_numpy,
    full,
    full_like,
    linspace,
    logspace,
    normal,
    ones,
    ones_like,
    polar,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
    scalar_tensor,
    tensor,
    tril_indices,
    triu_indices,
    zeros,
    zeros_like,
)
from .devices import device
from .func import vmap
from .kinds import result_type
from .modes import *  # noqa: F403 - what it lists are names of PyTorch's
from .namespace import NAMES as _NAMES
from .nn import modules as _modules
from .reductions import RETURN_TYPES as _RETURN_TYPES
from .serialization import load, save
from .shapes import Size
from .shown import set_printoptions
from .tensor import Tensor
from .types import can_cast, is_complex, is_floating_point, is_nonzero, is_tensor, numel, promote_types

globals().update(_NAMES)
globals().update({name: sparse.choosing(globals()[name], function) for name, function in sparse.FUNCTIONS.items()})
return_types = _Names(**_RETURN_TYPES)
strided, contiguous_format, channels_last, preserve_format = (
    "torch.strided", "torch.contiguous_format", "torch.channels_last", "torch.preserve_format")
newaxis = None
__version__ = "2.7.0+retrograde"

__getattr__ = _absent_from("torch", lambda: list(globals()))

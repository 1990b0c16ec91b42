"""What PyTorch's users look for here."""

from ...core.mode import no_grad
from ...errors import ShapeError
from ...ops.manipulation.joins import concatenate
from ...ops.manipulation.movements import reshape
from . import parametrizations, parametrize, prune, rnn
from .clip_grad import clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights


def parameters_to_vector(parameters):
    """All numbers of `parameters` in one vector, through which gradients flow back to each.

    >>> rg.nn.utils.parameters_to_vector([rg.ones(2), rg.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    return concatenate([reshape(p, (-1,)) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Write the numbers of `vec` into `parameters`, in the order of `parameters_to_vector`."""
    parameters = list(parameters)
    count = sum(p.size for p in parameters)
    if vec.shape != (count,):
        raise ShapeError(f"the vector must have the {count} numbers of the parameters, got shape {vec.shape}")
    start = 0
    with no_grad():
        for p in parameters:
            p[...] = reshape(vec[start : start + p.size], p.shape)
            start += p.size

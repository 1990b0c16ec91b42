"""Activations as modules. `inplace` is taken for the sake of models written for PyTorch, and changes nothing."""

from ..tensor.creation import full
from . import functional
from .module import Module
from .parameter import Parameter


class ReLU(Module):
    """`x` where it is positive, else 0.

    >>> rg.nn.ReLU()(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, input):
        return functional.relu(input)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """`x` where it is positive, else `negative_slope` times `x`."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, input):
        return functional.leaky_relu(input, self.negative_slope)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class RReLU(Module):
    """`LeakyReLU` with slopes that are drawn between `lower` and `upper` in training, and else are half-way."""

    def __init__(self, lower=1 / 8, upper=1 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        return functional.rrelu(input, self.lower, self.upper, self.training)

    def extra_repr(self):
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """`x` where it is positive, else `alpha` (exp `x` - 1)."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, input):
        return functional.elu(input, self.alpha)

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """`x` times the chance that a normal number is below it; `approximate="tanh"` is faster and nearly that."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, input):
        return functional.gelu(input, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class SiLU(ReLU):
    """`x` times its logistic function."""

    def forward(self, input):
        return functional.silu(input)


class Mish(ReLU):
    """`x` times the hyperbolic tangent of its softplus."""

    def forward(self, input):
        return functional.mish(input)


class SELU(ReLU):
    """The self-normalising `ELU`."""

    def forward(self, input):
        return functional.selu(input)


class Hardswish(ReLU):
    """`SiLU` in straight pieces."""

    def forward(self, input):
        return functional.hardswish(input)


class Sigmoid(Module):
    """The logistic function."""

    def forward(self, input):
        return functional.sigmoid(input)


class LogSigmoid(Module):
    """Logarithm of the logistic function."""

    def forward(self, input):
        return functional.logsigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input):
        return functional.tanh(input)


class Softplus(Module):
    """A smooth `ReLU`; `x` itself where `beta` times `x` is above `threshold`."""

    def __init__(self, beta=1.0, threshold=20.0):
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, input):
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self):
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """Exponentials divided by their sum over the axis `dim`, which is the last if there are no more than two."""

    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return functional.softmax(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """Logarithm of `Softmax`."""

    def forward(self, input):
        return functional.log_softmax(input, self.dim)


class Softmin(Softmax):
    """`Softmax` of the negative."""

    def forward(self, input):
        return functional.softmin(input, self.dim)


class Softmax2d(Module):
    """`Softmax` over the channels of images, (batch, channels, height, width) or without the batch."""

    def forward(self, input):
        return functional.softmax(input, -3)


class ReLU6(ReLU):
    """`ReLU` that stays at 6."""

    def forward(self, input):
        return functional.relu6(input)


class Hardsigmoid(ReLU):
    """`Sigmoid` in straight pieces."""

    def forward(self, input):
        return functional.hardsigmoid(input)


class Softsign(Module):
    """`x` divided by 1 plus its size."""

    def forward(self, input):
        return functional.softsign(input)


class Tanhshrink(Module):
    """`x` less its hyperbolic tangent."""

    def forward(self, input):
        return functional.tanhshrink(input)


class Hardtanh(Module):
    """`x`, but at least `min_val` and at most `max_val`."""

    def __init__(self, min_val=-1.0, max_val=1.0, inplace=False):
        super().__init__()
        self.min_val, self.max_val, self.inplace = min_val, max_val, inplace

    def forward(self, input):
        return functional.hardtanh(input, self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class Softshrink(Module):
    """`x` moved towards 0 by `lambd`, and 0 where it is nearer than that."""

    def __init__(self, lambd=0.5):
        super().__init__()
        self.lambd = lambd

    def forward(self, input):
        return functional.softshrink(input, self.lambd)

    def extra_repr(self):
        return str(self.lambd)


class Hardshrink(Softshrink):
    """`x`, and 0 where it is at most `lambd` from 0."""

    def forward(self, input):
        return functional.hardshrink(input, self.lambd)


class Threshold(Module):
    """`x` where it is above `threshold`, else `value`."""

    def __init__(self, threshold, value, inplace=False):
        super().__init__()
        self.threshold, self.value, self.inplace = threshold, value, inplace

    def forward(self, input):
        return functional.threshold(input, self.threshold, self.value)

    def extra_repr(self):
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """`ELU` without a bend at 0."""

    def forward(self, input):
        return functional.celu(input, self.alpha)


class GLU(Module):
    """The first half along the axis `dim`, times the logistic function of the second."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, input):
        return functional.glu(input, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class PReLU(Module):
    """`LeakyReLU` whose slope is learned: one number, or one for each channel."""

    def __init__(self, num_parameters=1, init=0.25, device=None, dtype=None):
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(full(num_parameters, float(init), dtype=dtype, device=device))

    def forward(self, input):
        return functional.prelu(input, self.weight)

    def extra_repr(self):
        return f"num_parameters={self.num_parameters}"

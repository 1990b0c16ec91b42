"""Activations as modules. `inplace` is taken for the sake of models written for PyTorch, and changes nothing."""

from . import functional
from .module import Module


class ReLU(Module):
    """`x` where it is positive, else 0.

    >>> rg.nn.ReLU()(rg.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace

    def forward(self, x):
        return functional.relu(x)

    def extra_repr(self):
        return "inplace=True" if self.inplace else ""


class LeakyReLU(Module):
    """`x` where it is positive, else `negative_slope` times `x`."""

    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__()
        self.negative_slope, self.inplace = negative_slope, inplace

    def forward(self, x):
        return functional.leaky_relu(x, self.negative_slope)

    def extra_repr(self):
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """`x` where it is positive, else `alpha` (exp `x` - 1)."""

    def __init__(self, alpha=1.0, inplace=False):
        super().__init__()
        self.alpha, self.inplace = alpha, inplace

    def forward(self, x):
        return functional.elu(x, self.alpha)

    def extra_repr(self):
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class GELU(Module):
    """`x` times the chance that a normal number is below it; `approximate="tanh"` is faster and nearly that."""

    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, x):
        return functional.gelu(x, self.approximate)

    def extra_repr(self):
        return f"approximate={self.approximate!r}"


class SiLU(ReLU):
    """`x` times its logistic function."""

    def forward(self, x):
        return functional.silu(x)


class Mish(ReLU):
    """`x` times the hyperbolic tangent of its softplus."""

    def forward(self, x):
        return functional.mish(x)


class SELU(ReLU):
    """The self-normalising `ELU`."""

    def forward(self, x):
        return functional.selu(x)


class Hardswish(ReLU):
    """`SiLU` in straight pieces."""

    def forward(self, x):
        return functional.hardswish(x)


class Sigmoid(Module):
    """The logistic function."""

    def forward(self, x):
        return functional.sigmoid(x)


class LogSigmoid(Module):
    """Logarithm of the logistic function."""

    def forward(self, x):
        return functional.logsigmoid(x)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, x):
        return functional.tanh(x)


class Softplus(Module):
    """A smooth `ReLU`."""

    def __init__(self, beta=1.0):
        super().__init__()
        self.beta = beta

    def forward(self, x):
        return functional.softplus(x, self.beta)

    def extra_repr(self):
        return f"beta={self.beta}"


class Softmax(Module):
    """Exponentials divided by their sum over the axis `dim`."""

    def __init__(self, dim=-1):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return functional.softmax(x, self.dim)

    def extra_repr(self):
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """Logarithm of `Softmax`."""

    def forward(self, x):
        return functional.log_softmax(x, self.dim)

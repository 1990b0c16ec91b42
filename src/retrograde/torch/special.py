"""`torch.special`: functions of each element, with integers made floats as PyTorch makes them."""

from functools import wraps

from ..core.value import Value
from ..ops.special import bessel, entropies, incomplete, log_gamma, normal
from . import kinds
from .absent import absent_from
from .differing import logit as _logit
from .functions import polynomials as _polynomials
from .methods import FUNCTIONS


def _floating(function):
    @wraps(function)
    def called(*args):
        return function(*[kinds.floating(kinds.operand(a)) if isinstance(a, Value) else a for a in args])

    return called


def _second(function):
    """`function(x, n)`, called with `n` first."""
    return lambda n, input: function(kinds.floating(kinds.operand(input)), n)


_OWN = {
    **{name: _floating(f) for name, f in {
        "entr": entropies.entr, "erfcx": normal.erfcx, "gammainc": incomplete.gammainc, "gammaincc": incomplete.gammaincc,
        "gammaln": log_gamma.lgamma, "psi": log_gamma.digamma, "i0": bessel.i0, "i0e": bessel.i0e, "i1": bessel.i1,
        "i1e": bessel.i1e, "log_ndtr": normal.log_ndtr, "ndtr": normal.ndtr, "ndtri": normal.ndtri,
        "xlog1py": entropies.xlog1py}.items()},
    **{f"bessel_{kind}{n}": _floating(lambda x, f=f, n=n: f(x, n))
       for kind, f in (("j", bessel.bessel_j), ("y", bessel.bessel_y)) for n in (0, 1)},
    "modified_bessel_i0": _floating(bessel.i0), "modified_bessel_i1": _floating(bessel.i1),
    "polygamma": _second(log_gamma.polygamma),
    "multigammaln": lambda input, p: log_gamma.multigammaln(kinds.floating(kinds.operand(input)), p),
    "expit": FUNCTIONS["sigmoid"], "logit": lambda input, eps=None: _logit(kinds.floating(kinds.operand(input)), eps),
}
_SHARED = (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "log1p", "log_softmax", "logsumexp", "round", "sinc", "softmax", "xlogy")
_OWN |= {name: getattr(_polynomials, name) for name in _polynomials.__all__}
globals().update(_OWN, **{name: FUNCTIONS[name] for name in _SHARED})

__all__ = sorted([*_OWN, *_SHARED])
__getattr__ = absent_from("torch.special", lambda: __all__)

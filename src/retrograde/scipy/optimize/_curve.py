"""Curves through points."""

import numpy as np

from ...core.value import Value
from ...errors import ArgumentError
from ...extras import optional
from ...transforms.grad import jacobian
from .._given import Attempted, array, check_outside, inputs

_scipy = optional("scipy.optimize", "scipy")


def curve_fit(f, xdata, ydata, p0=None, sigma=None, absolute_sigma=False, check_finite=None, bounds=(-np.inf, np.inf), method=None,
              jac=None, *, compiled=True, **options):
    """(parameters, their covariances) of the curve `f(x, *parameters)` that is nearest to points; as `scipy.optimize.curve_fit`.

    The Jacobian is ours, unless `jac` is given. The results are numbers: derivatives in the data are those of `least_squares`.

    >>> x = np.linspace(0, 4, 9)
    >>> rg.scipy.optimize.curve_fit(lambda x, a, b: a * rg.exp(-b * x), x, 2.5 * np.exp(-1.3 * x))[0]
    array([2.5, 1.3])
    """
    for data in (xdata, ydata, sigma):
        if isinstance(data, Value) and data.record is not None:
            raise ArgumentError("curve_fit has no derivatives in its data; use least_squares, with the data in args")
    xdata, ydata, sigma = (data.numpy() if isinstance(data, Value) else data for data in (xdata, ydata, sigma))
    call = lambda x, *parameters: array(f(x, *parameters))
    if jac is None:
        quick = Attempted(jacobian(lambda parameters, x: f(x, *parameters)), compiled)
        jac = lambda x, *parameters: array(quick(np.array(parameters, np.float64), inputs(x)))
    call = _with_names(call, f)
    return _scipy.curve_fit(call, xdata, ydata, p0=p0, sigma=sigma, absolute_sigma=absolute_sigma, check_finite=check_finite,
                            bounds=bounds, method=method, jac=jac, **options)


def _with_names(call, f):
    """`call`, with the signature of `f`, from which SciPy counts the parameters."""
    call.__wrapped__ = f

    def checked(x, *parameters):
        found = f(x, *parameters)
        check_outside("curve_fit", found, "xdata")
        return array(found)

    checked.__wrapped__ = f
    return checked

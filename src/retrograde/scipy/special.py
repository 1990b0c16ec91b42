"""The names of scipy.special, differentiable.

>>> from retrograde.scipy.special import gammaln
>>> rg.grad(lambda x: gammaln(x))(3.0).round(6)
np.float64(0.922784)
"""

from ..extras import optional
from ..numpy._differentiable import namespace
from ._special import chosen

globals().update(namespace(optional("scipy.special", "scipy"), chosen))

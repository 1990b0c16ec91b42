"""NumPy, differentiable: `import retrograde.numpy as np` in place of `import autograd.numpy as np`.

Every name of NumPy, with NumPy's signature. A call with a tensor among its arguments, as a transform hands them in, runs
our op and is recorded; any other call is NumPy's own. What has no derivative works on the data of tensors, and what would
lose one is an error that says so.

>>> import retrograde.numpy as np
>>> rg.grad(lambda x: np.sum(np.sin(x) ** 2))(np.array([0.0, 1.0]))
array([0.        , 0.90929743])
"""

import numpy as _numpy
from numpy import __version__

from . import _differentiable, fft, linalg, random
from ._beyond import make_diagonal, where
from ._indexing import c_, r_

_OURS = frozenset(globals())
globals().update({name: found for name, found in _differentiable.namespace(_numpy).items() if name not in _OURS})

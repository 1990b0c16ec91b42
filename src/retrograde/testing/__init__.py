"""Testing: derivatives against finite differences, compiled code against eager ops, and arrays against each other.

>>> rg.testing.check_gradients(lambda x, y: rg.sin(x) * y, (np.ones(3), np.array([1.0, 2.0, 3.0])))
"""

from .close import assert_close
from .compiled import check_compiled
from .gradients import check_gradients

"""scipy.optimize, with derivatives handed over by themselves, and derivatives through the solution.

Gradients, Jacobians and products with Hessians of the functions are ours, compiled where a function can be traced. All else is
SciPy's: methods, options, results. A solution has derivatives in the tensors among the arguments of the functions, by the implicit
function theorem: in both directions, of any order.
"""

from ._curve import curve_fit
from ._least_squares import least_squares
from ._minimize import minimize
from ._roots import fixed_point, root, root_scalar

"""Linear algebra as generated machine code: factorizations of matrices in the last two axes, and equations solved by them."""

from . import methods
from .cholesky import CholeskyPlan, write_cholesky
from .definite import DefinitePlan, write_definite
from .elimination import EliminationPlan, write_elimination
from .equations import EquationsPlan, write_equations
from .lanes import LanesPlan, Operand, write_lanes
from .spec import spec_for

__all__ = ["CholeskyPlan", "DefinitePlan", "EliminationPlan", "EquationsPlan", "LanesPlan", "Operand", "methods", "spec_for",
           "write_cholesky", "write_definite", "write_elimination", "write_equations", "write_lanes"]

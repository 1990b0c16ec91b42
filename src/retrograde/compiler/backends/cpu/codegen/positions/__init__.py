"""Lines at positions that are data: added to others, written over others, or found to be the same."""

from .first import FirstPlan, write_first
from .scatter import ScatterPlan, write_scatter
from .written import WrittenPlan, write_written

__all__ = ["FirstPlan", "ScatterPlan", "WrittenPlan", "write_first", "write_scatter", "write_written"]

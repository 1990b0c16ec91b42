"""Workers that make batches: none, threads, or processes. `crew` chooses."""

from .crew import Crew
from .inline import Inline
from .processes import Processes
from .threads import Threads

__all__ = ["Crew", "Inline", "Processes", "Threads"]

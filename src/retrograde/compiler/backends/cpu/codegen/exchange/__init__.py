"""What the processes of a group tell each other, and sums over them, through memory that all of them see.

`protocol` has the functions, as LLVM text, with `waiting` and `adding`, and where what they read lies; `steps` are those of
compiled programs, which call them. How Python does stands in `cpu.exchange`.
"""

from .steps import BeginPlan, FinishPlan, write_begin, write_finish

__all__ = ["BeginPlan", "FinishPlan", "write_begin", "write_finish"]

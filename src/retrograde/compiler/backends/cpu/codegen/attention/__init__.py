"""Attention as generated machine code: no more than a block of weights at a time, in memory of the thread's own.

`Forward`, `Single`, `Prompt` and `Backward` say what the code depends on; `write_forward`, `write_single` and so on write it,
and `write_total` adds up the slopes of queries where keys were dealt to several tasks.
"""

from .backward import write_backward, write_total
from .cached import CachedPlan, write_cached
from .forward import write_forward
from .plan import Backward, Forward, Operand, Prompt, Single, Sizes
from .prompt import write_prompt
from .single import write_single

__all__ = ["Backward", "Forward", "Operand", "Single", "Sizes", "write_backward", "write_forward", "write_single", "write_total"]

"""Sweeps: many runs of one function, each with other settings, shared out to processes and machines.

>>> found = rg.sweep(lambda point: (point["x"] - 2) ** 2, {"x": [0, 1, 2, 3]}, backend=None, progress=False)
>>> found.best.point, found.best.value
({'x': 2}, 0.0)
"""

from .space import Between, between
from .sweep import Sweep, Trial, sweep

"""Small helpers in the manner of autograd.misc: trees as vectors, optimizers as functions, fixed points."""

from . import fixed_points, optimizers, tracers
from .flatten import flatten
from .tracers import const_graph

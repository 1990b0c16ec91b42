"""The names of np.random. Draws are constants: a function that is given a tensor in need of a gradient refuses it."""

from numpy import random as _random

from . import _differentiable

globals().update(_differentiable.namespace(_random, _differentiable.drawn))

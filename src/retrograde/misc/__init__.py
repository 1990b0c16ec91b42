"""Small helpers in the manner of autograd.misc: trees as vectors, optimizers as functions, fixed points."""

from .flatten import flatten

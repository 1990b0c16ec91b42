"""np.linalg by way of tensors."""

import numpy.linalg

import retrograde.numpy.linalg
from tests.suites.through import module

__getattr__ = module(retrograde.numpy.linalg, numpy.linalg)

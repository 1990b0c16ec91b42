"""NumPy by way of tensors."""

import numpy

import retrograde.numpy
from tests.suites.through import module

from . import fft, linalg

__getattr__ = module(retrograde.numpy, numpy)

"""np.fft by way of tensors."""

import numpy.fft

import retrograde.numpy.fft
from tests.suites.through import module

__getattr__ = module(retrograde.numpy.fft, numpy.fft)

"""scipy.special by way of tensors, numbers too."""

import scipy.special

import retrograde.scipy.special
from tests.suites.through import module

__getattr__ = module(retrograde.scipy.special, scipy.special, takes_numbers=True)

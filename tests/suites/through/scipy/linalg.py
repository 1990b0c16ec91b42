"""scipy.linalg by way of tensors."""

import scipy.linalg

import retrograde.scipy.linalg
from tests.suites.through import module

__getattr__ = module(retrograde.scipy.linalg, scipy.linalg)

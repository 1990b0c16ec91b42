"""The frequencies that the elements of a discrete Fourier transform stand for."""

import numpy as np

from ..dtypes import as_dtype, default_float
from ..errors import DTypeError
from .creation import asarray


def fftfreq(n, /, d=1.0, dtype=None, device=None):
    """The frequencies of the `n` elements of `fft`, in cycles per unit of the sample spacing `d`.

    >>> rg.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return _placed(np.fft.fftfreq(n, d), dtype, device)


def rfftfreq(n, /, d=1.0, dtype=None, device=None):
    """The frequencies of the elements of `rfft` of `n` numbers, in cycles per unit of the sample spacing `d`."""
    return _placed(np.fft.rfftfreq(n, d), dtype, device)


def _placed(frequencies, dtype, device):
    dtype = default_float if dtype is None else as_dtype(dtype)
    if dtype.kind not in "fV":
        raise DTypeError(f"frequencies are real numbers of a float type, got {dtype}")
    return asarray(frequencies.astype(dtype), device=device)

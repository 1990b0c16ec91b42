"""Discrete Fourier transforms: of lines side by side, in the `lanes` of vectors, and of `lines` one after the other."""

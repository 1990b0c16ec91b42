"""Special functions of each element: error functions, gamma and beta, Bessel, the normal distribution, entropies."""

"""Linear algebra: products of matrices and their sums, equations, factorizations, norms."""

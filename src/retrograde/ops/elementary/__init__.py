"""Elementary functions of each element: arithmetic, comparisons, exponentials, angles, rounding, bits, other types."""

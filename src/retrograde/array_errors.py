"""NumPy's errors, from which ours are derived: whoever catches NumPy's catches ours. The core runs without NumPy; then nobody
raises or expects them.
"""

try:
    from numpy.exceptions import AxisError
    from numpy.linalg import LinAlgError
except ImportError:

    class AxisError(ValueError, IndexError):
        """In the place of NumPy's."""

    class LinAlgError(ValueError):
        """In the place of NumPy's."""


__all__ = ["AxisError", "LinAlgError"]

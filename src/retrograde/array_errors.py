"""NumPy's errors, from which ours are derived: whoever catches NumPy's catches ours. The core runs without NumPy; then nobody
raises or expects them.
"""

from importlib import import_module
from typing import Any

try:
    AxisError: Any = import_module("numpy.exceptions").AxisError
    LinAlgError: Any = import_module("numpy.linalg").LinAlgError
except ImportError:
    AxisError, LinAlgError = type("AxisError", (ValueError, IndexError), {}), type("LinAlgError", (ValueError,), {})

"""NumPy's own tests, its arrays handed to our functions as tensors: `python -m tests.suites.numpy`, of the NumPy installed."""

import sys
from pathlib import Path

import numpy

from tests.suites.running import Suite, main

_THROUGH = "tests.suites.through.numpy"
#: What stays NumPy's own: helpers of tests, and modules that are not offered. What is private stays its own anyway.
_KEPT = ("numpy.testing", "numpy.exceptions", "numpy.random", "numpy.lib", "numpy.ma", "numpy.typing", "numpy.matrixlib",
         "numpy.polynomial", "numpy.dtypes")
_FILES = (
    *(f"lib/tests/test_{name}.py" for name in (
        "arraypad", "arraysetops", "function_base", "histograms", "index_tricks", "nanfunctions", "shape_base", "stride_tricks",
        "twodim_base", "type_check", "ufunclike")),
    *(f"_core/tests/test_{name}.py" for name in (
        "einsum", "function_base", "item_selection", "numeric", "shape_base", "umath", "umath_complex")),
    "fft/tests/test_helper.py", "fft/tests/test_pocketfft.py",
    "linalg/tests/test_linalg.py", "linalg/tests/test_regression.py",
)
REASONS: dict = {}
SUITE = Suite(
    "NumPy", _FILES,
    modules={"numpy": _THROUGH, **{name: name for name in _KEPT}},
    reasons=REASONS, options=("-p", "tests.suites.through.plugin", "--import-mode=importlib", "-W", "ignore::pytest.PytestUnknownMarkWarning"),
)

if __name__ == "__main__":
    sys.exit(main(SUITE, Path(numpy.__file__).parent))

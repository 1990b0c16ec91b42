"""NumPy's own tests, its arrays handed to our functions as tensors: `python -m tests.suites.numpy`, of the NumPy installed."""

import sys
from pathlib import Path

import numpy

from tests.suites.running import Suite, main

_THROUGH = "tests.suites.through.numpy"
#: What stays NumPy's own: whatever is private, and helpers of tests.
_KEPT = ("numpy.testing", "numpy._core", "numpy.exceptions", "numpy.linalg._linalg", "numpy.linalg._umath_linalg", "numpy.random",
         "numpy.lib", "numpy._utils", "numpy.ma", "numpy.fft._pocketfft_umath", "numpy.typing", "numpy.matrixlib", "numpy.polynomial",
         "numpy.conftest", "numpy.linalg.tests", "numpy.dtypes")
_FILES = (
    "lib/tests/test_function_base.py", "lib/tests/test_nanfunctions.py", "lib/tests/test_shape_base.py",
    "lib/tests/test_twodim_base.py", "lib/tests/test_type_check.py", "lib/tests/test_ufunclike.py", "lib/tests/test_arraypad.py",
    "lib/tests/test_arraysetops.py", "lib/tests/test_stride_tricks.py", "lib/tests/test_index_tricks.py", "_core/tests/test_umath.py", "_core/tests/test_umath_complex.py",
    "_core/tests/test_numeric.py", "_core/tests/test_einsum.py", "_core/tests/test_item_selection.py",
    "_core/tests/test_function_base.py", "fft/tests/test_pocketfft.py", "fft/tests/test_helper.py", "linalg/tests/test_linalg.py",
)
REASONS: dict = {}
SUITE = Suite(
    "NumPy", _FILES,
    modules={"numpy": _THROUGH, **{name: name for name in _KEPT}},
    reasons=REASONS, options=("-p", "tests.suites.through.plugin", "--import-mode=importlib", "-W", "ignore::pytest.PytestUnknownMarkWarning"),
)

if __name__ == "__main__":
    sys.exit(main(SUITE, Path(numpy.__file__).parent))

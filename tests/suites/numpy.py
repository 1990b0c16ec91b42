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
_LAYOUT = "a result of ours is in row-major order, and is neither a subclass of arrays nor a view that can be written to"
_NARROW = "a sum of products of integers that does not fit its dtype is an error, where NumPy's wraps around"
_ROUNDED = "compared to the last bit, in which another order of adding up, or another series, differs"
_INTEGERS = "whole numbers keep their dtype, or go to float64, where NumPy goes to float16 or float32 by their width"
REASONS = {
    "*TestFFT1D::test_fftn_out_argument*": _ROUNDED, "*TestFFT1D::test_irfftn_out_and_s_interaction*": _ROUNDED,
    "*Test_I0::test_non_array": _ROUNDED,
    "*TestEinsum::test_einsum_sums_*int*": _NARROW, "*TestEinsum::test_einsum_broadcast": _NARROW,
    "*TestEinsum::test_different_paths*": _NARROW,
    "*TestEinsumPath::test_path_type_input_invalid": "the order of products is ours, and `optimize` is not read",
    "*::test_q_strong_promotion*": "a quantile has the dtype of the elements, whatever that of `q`",
    "*TestPercentile::test_linear_interpolation*": "a quantile has the dtype of the elements, whatever that of `q`",
    "*TestInterp::test_non_finite_half_inf_f*": "an infinite complex value makes both parts of what lies beside it NaN",
    "*::test_memory_layout_persistence*": _LAYOUT, "*TestCopy::test_order": _LAYOUT, "*TestDelete::test_array_order_preserve": _LAYOUT,
    "*TestReal::*": _LAYOUT, "*TestImag::*": _LAYOUT, "*TestMeshgrid::test_writeback": _LAYOUT, "*TestKron::test_return_type": _LAYOUT,
    "*TestApplyAlongAxis::test_axis_insertion_ma": _LAYOUT, "*TestNanToNum::test_generic": _LAYOUT, "*TestSolve::test_0_size*": _LAYOUT,
    "*TestLstsq::test_*_cases": _LAYOUT,
    "*TestEig*::test_types*": "eigenvalues are complex whatever the matrix, so that their dtype is known before their values",
    "*TestMatrixPower::test_power_is_zero*": "truth values to the power 0 are integers",
    "*TestFFT1D::test_rfftn": "an axis that is named twice is an error",
    "*TestSetOps::test_isin_*": "`isin` has one way to search, and no `kind`",
}
MESSAGES = {
    "*DID NOT WARN*": "a NaN says by itself that there was nothing else; NumPy adds a RuntimeWarning",
    "*Regex pattern did not match*": "the error has the class that is expected, and words of our own",
    "*does not match*": "the error has the class that is expected, and words of our own",
}
SUITE = Suite(
    "NumPy", _FILES,
    modules={"numpy": _THROUGH, **{name: name for name in _KEPT}},
    reasons=REASONS, messages=MESSAGES, options=("-p", "tests.suites.through.plugin", "--import-mode=importlib", "-m", "not slow",
             "-W", "ignore::pytest.PytestUnknownMarkWarning"),
)

if __name__ == "__main__":
    sys.exit(main(SUITE, Path(numpy.__file__).parent))

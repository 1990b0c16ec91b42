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
_MODE = "the mode of a convolution is a word"
_CROSS = "vectors of a cross product have three elements; NumPy still takes two, with a warning that it will not"
_OBJECTS = "tensors hold numbers: an array of objects or of strings, or a list in which a number stands beside arrays, is an error"
_OUT = "`fix` takes no `out=`"
_EMPTY = "a quantile of nothing is an error, where NumPy gives NaN and a warning"
_SHAPES = "matrices of a wrong shape are a ShapeError, which is a ValueError, where NumPy has a LinAlgError"
REASONS = {
    "*TestFFT1D::test_fftn_out_argument*": _ROUNDED, "*TestFFT1D::test_irfftn_out_and_s_interaction*": _ROUNDED,
    "*Test_I0::test_non_array": _ROUNDED,
    "*TestEinsum::test_einsum_sums_*int*": _NARROW, "*TestEinsum::test_einsum_broadcast": _NARROW,
    "*TestEinsum::test_different_paths*": _NARROW,
    "*TestEinsum::test_einsum_views": _LAYOUT,
    "*TestEinsumPath::test_path_type_input_invalid": "the order of products is ours, and `optimize` is not read",
    "*::test_q_strong_promotion*": "a quantile has the dtype of the elements, whatever that of `q`",
    "*TestQuantile::test_correct_quantile_value": "a quantile of truth values is a float",
    "*TestQuantile::test_quantile_monotonic_hypo": "too slow for the health check of Hypothesis when each draw goes by tensors",
    "*TestLogspace::test_*": _ROUNDED, "*TestLikeFuncs::*": _LAYOUT, "*TestAsType::test_astype": _LAYOUT,
    "*TestNonarrayArgs::test_reshape_copy_arg": _LAYOUT,
    "*TestNonarrayArgs::test_reshape_shape_arg": "`reshape` takes its shape by name too",
    "*TestClip::test_clip_min_max_args": "`clip` takes one bound alone",
    "*TestConvolve::test_mode": _MODE, "*TestCorrelate::test_mode": _MODE, "*TestCross::test_*": _CROSS,
    "*TestNonzero::test_nonzero_invalid_object": _OBJECTS, "*TestComparisons::test_ignore_object_identity_in_*": _OBJECTS,
    "*TestRegression::test_norm_object_array": _OBJECTS, "*TestConcatenate::test_concatenate_axis_None": _OBJECTS,
    "*TestSpecialMethods::test_ufunc_override_*": _OBJECTS,
    "*TestRoll::test_roll_big_int": "a shift that does not fit 64 bits is an error",
    "*Test*Median::test_empty": _EMPTY, "*Test*Percentile::test_empty": _EMPTY,
    "*MeanVarStd::test_empty": "a NaN says by itself that there was nothing else; NumPy adds a RuntimeWarning",
    "*NumberTypes::test_nanfunc*": "complex numbers have no order, so that they have no median",
    "*MeanVarStd::test_dtype_error": "a mean of floats is brought to a dtype of integers where one is asked for",
    **{f"*TestApplyAlongAxis::test_{name}": _LAYOUT for name in ("axis_insertion", "axis_insertion_ma", "subclass_preservation")},
    "*TestUfunclike::test_fix": _OUT, "*TestUfunclike::test_scalar": _OUT,
    "*TestCond::test_*singular": "the condition number of a singular matrix by its inverse is a LinAlgError, not infinity",
    "*TestMatrixPower::test_exceptions_non_square*": _SHAPES, "*::test_non_square_handling*": _SHAPES,
    "*TestLstsq::test_incompatible_dims": _SHAPES,
    "*test_linalg::test_unsupported_commontype": "float16 is computed in float32, and given back as float16",
    "*TestInterp::test_non_finite_half_inf_f*": "an infinite complex value makes both parts of what lies beside it NaN",
    "*::test_memory_layout_persistence*": _LAYOUT, "*TestCopy::test_order": _LAYOUT, "*TestDelete::test_array_order_preserve": _LAYOUT,
    "*TestReal::*": _LAYOUT, "*TestImag::*": _LAYOUT, "*TestMeshgrid::test_writeback": _LAYOUT, "*TestKron::test_return_type": _LAYOUT,
    "*TestNanToNum::test_generic": _LAYOUT, "*TestSolve::test_0_size*": _LAYOUT,
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

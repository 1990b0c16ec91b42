"""SciPy's own tests, its arrays handed to our functions as tensors: `python -m tests.suites.scipy`, of the SciPy installed."""

import sys
from pathlib import Path

import scipy

from tests.suites.running import Suite, main

_FILES = (
    *(f"special/tests/test_{name}.py" for name in (
        "basic", "boxcox", "digamma", "erfinv", "gamma", "gammainc", "loggamma", "logit", "ndtr", "ndtri_exp", "spfun_stats",
        "trig", "zeta")),
    *(f"linalg/tests/test_{name}.py" for name in ("basic", "decomp_cholesky", "matfuncs", "solvers")),
)
_DTYPE = "the result has the dtype of the matrix, where SciPy goes to float32 or float64"
_OTHERS = "strings, objects, time differences and long doubles are a DTypeError in other words"
_MEMORY = "no memory is reused: `overwrite_a` and `overwrite_b` change nothing"
_WARNED = "ours gives no warning of SciPy's, of ill-conditioned matrices or of arguments that will go"
_ROUNDED = "by another formula than SciPy's, which differs in the last digits"
_SINGULAR = "a singular matrix that is said to be positive definite is a LinAlgError in words of our own"
_COMPLEX = "`transposed=True` of complex matrices is taken, where SciPy raises a NotImplementedError"
_NUMBER = "a number on the right is no vector of one element: a ShapeError"
_NO_NUMBERS = "`factorial` of no numbers is an array of floats, where SciPy keeps integers"
_NUMBER_BACK = "an array of no axes comes back as a number"
_INVERSE = "SciPy's `gammaincc` is off by 8e-15 at (0.4977, 0.4977), and its inverse, which is not ours, fits it there"
REASONS = {
    "*TestDTypes::test_solve?[gGSUOm]-*": _OTHERS, "*TestDTypes::test_solve?*-[gGSUOm]?": _OTHERS,
    "*TestDet::test_*by1_stacked*": _DTYPE, "*TestDet::test_1x1_*": _DTYPE, "*TestDet::test_sample_compatible_dtype*": _DTYPE,
    "*TestInv::test_dtypes*": _DTYPE, "*TestSqrtM::test_data_size_preservation_float*": _DTYPE,
    "*TestSolve::test_overwrite_args*": _MEMORY, "*TestDet::test_overwrite_a": _MEMORY, "*TestInv::test_overwrite_a?True?": _MEMORY,
    "*TestOverwrite::test_cho_solve": _MEMORY,
    "*TestSolve::test_exactly_singular_gh22263*positive definite*": _SINGULAR, "*TestSolve::test_singular_scalar*": _NUMBER,
    "*TestSolve::test_structure_detection?*-True-nrhs*-complex128?": _COMPLEX,
    "*TestFactorialFunctions::test_factorial_array_corner_cases???-*-False-zero-int64?": _NO_NUMBERS,
    "*TestFactorialFunctions::test_factorial*_array_corner_cases*-0-*": _NUMBER_BACK,
    "*TestFactorialFunctions::test_factorial_scalar_corner_cases?1.1-False-complex?": _ROUNDED,
    "*TestGammaincc::test_roundtrip": _INVERSE,
    "*test_basic::test_legacy": "a Bessel function of an order that is not whole is that of the order, which SciPy's `yn` cuts off",
}
MESSAGES = {
    "*DID NOT WARN*": _WARNED,
    "*Regex pattern did not match*": "the error has the class that is expected, and words of our own",
}
SUITE = Suite(
    "SciPy", (*_FILES, "linalg/tests/data"), _FILES,
    modules={"scipy.special": "tests.suites.through.scipy.special", "scipy.linalg": "tests.suites.through.scipy.linalg",
             "scipy.linalg.blas": "scipy.linalg.blas", "scipy.linalg.lapack": "scipy.linalg.lapack"},
    reasons=REASONS, messages=MESSAGES,
    options=("-p", "scipy.conftest", "-p", "tests.suites.through.plugin", "--import-mode=importlib", "-W", "ignore"),
)

if __name__ == "__main__":
    sys.exit(main(SUITE, Path(scipy.__file__).parent))

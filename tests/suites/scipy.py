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
_MEMORY = "no memory is reused: `overwrite_a` and `overwrite_b` change nothing"
_WARNED = "ours gives no warning of SciPy's, of ill-conditioned matrices or of arguments that will go"
_ROUNDED = "by another formula than SciPy's, which differs in the last digits"
_SINGULAR = "where floating point errors are ignored (`np.errstate`), a singular matrix gives NaN, as in a backward pass"
_COMPLEX = "`transposed=True` of complex matrices is taken, where SciPy raises a NotImplementedError"
_NUMBER = "a number on the right is no vector of one element: a ShapeError"
_FACTORIAL = "`factorial` is the exponential of a logarithm, of floats and numbers of one kind: empty arrays and dtypes differ from SciPy's"
REASONS = {
    "*TestDTypes::test_solve*": "strings, objects, time differences and long doubles are a DTypeError in other words",
    "*TestDet::test_*by1_stacked*": _DTYPE, "*TestDet::test_1x1_*": _DTYPE, "*TestDet::test_sample_compatible_dtype*": _DTYPE,
    "*TestInv::test_dtypes*": _DTYPE, "*TestSqrtM::test_data_size_preservation_float*": _DTYPE,
    "*test_overwrite*": _MEMORY, "*TestOverwrite::*": _MEMORY,
    "*TestSolve::test_exactly_singular_gh22263*": _SINGULAR, "*TestSolve::test_singular_scalar*": _NUMBER,
    "*TestSolve::test_structure_detection*": _COMPLEX,
    "*TestVectorNorms::test_overflow": "a norm is the root of a sum of squares in the dtype of the elements, as in NumPy",
    "*TestFactorialFunctions::*": _FACTORIAL,
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

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
REASONS: dict = {}
SUITE = Suite(
    "SciPy", (*_FILES, "linalg/tests/data"), _FILES,
    modules={"scipy.special": "tests.suites.through.scipy.special", "scipy.linalg": "tests.suites.through.scipy.linalg",
             "scipy.linalg.blas": "scipy.linalg.blas", "scipy.linalg.lapack": "scipy.linalg.lapack"},
    reasons=REASONS,
    options=("-p", "scipy.conftest", "-p", "tests.suites.through.plugin", "--import-mode=importlib", "-W", "ignore"),
)

if __name__ == "__main__":
    sys.exit(main(SUITE, Path(scipy.__file__).parent))

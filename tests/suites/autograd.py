"""HIPS autograd's tests with nothing changed but the imports: `python -m tests.suites.autograd CHECKOUT`."""

import sys

from tests.suites.running import Suite, main

_OLD = "deprecated in autograd since 2017, by a warning that names `defvjp` and `check_grads`, which are here"
_PLAIN = "`np.where` of Python numbers and lists gives arrays, as in NumPy; autograd gives a Python number or a list"
_COMPLEX = "`erf` and `erfc` of complex numbers are a DTypeError: they are functions of real numbers here"

REASONS = {
    "tests.test_scipy::test_erf": _COMPLEX,
    "tests.test_scipy::test_erfc": _COMPLEX,
    "tests.test_graphs::test_assignment_raises_error": "writing to an argument is an error here too: an InplaceError, which says "
                                                       "what to do, and no TypeError",
    "tests.test_fft::test_rfftn_odd_not_implemented": "expects an error, and ours has the derivative for odd sizes",
    "tests.test_linalg::test_pinv": "calls `np.linalg._dot`, a private function of autograd",
    "tests.test_misc::test_const_graph_args": "`const_graph` is `rg.jit`, which cannot look into a primitive, and says so",
    "tests.test_wrappers::test_deprecated_*": _OLD,
    "tests.test_wrappers::test_custom_where_dtypes*": _PLAIN,
    "tests.test_wrappers::test_wrapped_name_and_docs": "`grad(f)` has the name of `f`, not `grad_of_f_wrt_argnum_0`, and docstrings "
                                                       "are our own",
}
SUITE = Suite("HIPS autograd", ("tests",), modules={"autograd": "retrograde"}, reasons=REASONS)

if __name__ == "__main__":
    sys.exit(main(SUITE))

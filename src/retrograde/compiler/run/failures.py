"""Failures: the errors that a check in a kernel stands for, by the number that it leaves where checks leave theirs, and what cannot
be a kernel.
"""

from ...errors import CompilerError, LinAlgError, OutOfRangeError

#: The place in a program's table of pointers of an int64 that a kernel sets to one of these where a check fails.
FLAG = "flag"
#: What kernels leave; odd numbers, since the lowest bit stops what lasts.
OUT_OF_RANGE, NOT_DEFINITE, SINGULAR, EXCHANGE = 1, 3, 5, 7
_NO_ANSWER = "there is no answer: {}; look for rows that depend on each other"
_ERRORS = {
    OUT_OF_RANGE: (OutOfRangeError, "an index was negative or too great; nothing was written. Call the function without jit to see "
                   "which op and which index"),
    NOT_DEFINITE: (LinAlgError, "cholesky: " + _NO_ANSWER.format("matrix is not positive definite")),
    SINGULAR: (LinAlgError, "solve, inv or solve_triangular: " + _NO_ANSWER.format("singular matrix")),
}
#: What makes the error, by number, where more is known than that: of processes, which did not come.
EXPLAINED: dict = {}
#: What is called when a program ends halfway by an error of Python's, so that nothing that it has begun is left open.
ABANDONED: list = []


def failure(number):
    """The error for what a kernel left. Several may have left something; then it is the last one's."""
    if number in EXPLAINED:
        return EXPLAINED[number]()
    kind, text = _ERRORS[number]
    return kind(text)


class SeveralStepsError(CompilerError):
    """A function is made of more than one kernel, as where an op in it is a library call: it stays with NumPy."""

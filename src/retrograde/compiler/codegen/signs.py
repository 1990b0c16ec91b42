"""Signs: on which side of zero values of a kernel are for certain, for functions that cost less on one side."""

from math import prod

from ..expression import Apply, Constant, Select
from ..kinds import IDENTITIES

#: What is never below zero, whatever it is applied to.
_NEVER_BELOW = frozenset(["abs", "exp", "exp2", "sqrt", "square", "sigmoid", "relu", "softplus", "cosh", "hypot", "erfc"])
#: What has the sign of its operand.
_SAME_SIGN = frozenset(["astype", *IDENTITIES])
#: Functions that are cheaper for operands of one sign: which, and the function for these.
_ONE_SIDED = {"exp": (-1, "exp_of_nonpositive"), "log1p": (1, "log1p_of_nonnegative")}
#: How far back is looked.
_FAR = 8


class Signs:
    """The signs of a list of entries: 1 for what is not below zero, -1 for what is not above it, 0 for what may be either. NaN
    may be anywhere.

    All rounds of a repetition have the code of the first one, of which alone the entries tell: nothing is known of these.
    """

    def __init__(self, entries, runs):
        self._entries = entries
        self._repeated = {number for run in runs for number in range(run.start, run.stop)}

    def function(self, number):
        """The name of the math library's function for an entry: that of its op, or a cheaper one."""
        entry = self._entries[number]
        name = entry.node.op.name
        sign, cheaper = _ONE_SIDED.get(name, (0, name))
        return cheaper if sign and number not in self._repeated and self._of(entry.arguments[0], _FAR) == sign else name

    def _of(self, number, far):
        entry = self._entries[number]
        if isinstance(entry, Constant):
            return _sign_of(entry.value)
        if not far or number in self._repeated:
            return 0
        if isinstance(entry, Select):
            return _common(self._of(entry.inside, far - 1), self._of(entry.outside, far - 1))
        return self._of_result(number, entry, far) if isinstance(entry, Apply) and entry.node.dtype.kind == "f" else 0

    def _of_result(self, number, entry, far):
        name = entry.node.op.name
        if name in _NEVER_BELOW:
            return 1
        if name == "multiply":
            return prod(self._of(factor, far - 1) for factor in self._odd_factors(number, far))
        if name in _SAME_SIGN:
            return self._of(entry.arguments[0], far - 1)
        rule = _RULES.get(name)
        return rule(*[self._of(argument, far - 1) for argument in entry.arguments]) if rule else 0

    def _odd_factors(self, number, far):
        """The factors of a product that are there an odd number of times: what is left beside squares, in whatever order it is
        written.
        """
        entry = self._entries[number]
        if not (far and isinstance(entry, Apply) and entry.node.op.name == "multiply") or number in self._repeated:
            return {number}
        first, second = (self._odd_factors(argument, far - 1) for argument in entry.arguments)
        return first ^ second


def _sign_of(value):
    return (1 if value >= 0 else -1 if value < 0 else 0) if isinstance(value, (int, float)) else 0


def _common(x, y):
    return x if x == y else 0


_RULES = {
    "negative": lambda x: -x,
    "add": _common,
    "subtract": lambda x, y: _common(x, -y),
    "divide": lambda x, y: x * y,
    "maximum": lambda x, y: 1 if 1 in (x, y) else _common(x, y),
    "minimum": lambda x, y: -1 if -1 in (x, y) else _common(x, y),
    "where": lambda _, x, y: _common(x, y),
}

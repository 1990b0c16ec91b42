"""Signs: on which side of zero values of a kernel are for certain, for functions that cost less on one side."""

from functools import reduce

from ....index.elements import IDENTITIES
from ....index.expression import Apply, Constant, Select

#: What a sign is made of: both for zero, neither for what may be on either side. NaN may be anywhere.
_NOT_BELOW, _NOT_ABOVE = 1, 2
#: What is never below zero, whatever it is applied to.
_NEVER_BELOW = frozenset(["abs", "exp", "exp2", "sqrt", "square", "sigmoid", "relu", "softplus", "cosh", "hypot", "erfc"])
#: What has the sign of its operand.
_SAME_SIGN = frozenset(["astype", *IDENTITIES])
#: Functions that are cheaper for operands of one sign: which, and the function for these.
_ONE_SIDED = {"exp": (_NOT_ABOVE, "exp_of_nonpositive"), "log1p": (_NOT_BELOW, "log1p_of_nonnegative")}
#: How far back is looked.
_FAR = 8


class Signs:
    """The signs of a list of entries.

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
        return cheaper if sign and number not in self._repeated and self._of(entry.arguments[0], _FAR) & sign else name

    def _of(self, number, far):
        entry = self._entries[number]
        if isinstance(entry, Constant):
            return _sign_of(entry.value)
        if not far or number in self._repeated:
            return 0
        if isinstance(entry, Select):
            return self._of(entry.inside, far - 1) & self._of(entry.outside, far - 1)
        return self._of_result(number, entry, far) if isinstance(entry, Apply) and entry.node.dtype.kind == "f" else 0

    def _of_result(self, number, entry, far):
        name = entry.node.op.name
        if name in _NEVER_BELOW:
            return _NOT_BELOW
        if name == "multiply":
            return reduce(_product, [self._of(factor, far - 1) for factor in self._odd_factors(number, far)], _NOT_BELOW)
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
    return _NOT_BELOW * (value >= 0) | _NOT_ABOVE * (value <= 0) if isinstance(value, (int, float)) else 0


def _negative(sign):
    return _NOT_BELOW * bool(sign & _NOT_ABOVE) | _NOT_ABOVE * bool(sign & _NOT_BELOW)


def _product(x, y):
    return (y if x & _NOT_BELOW else 0) | (_negative(y) if x & _NOT_ABOVE else 0)


_RULES = {
    "negative": _negative,
    "add": lambda x, y: x & y,
    "subtract": lambda x, y: x & _negative(y),
    "divide": _product,
    "maximum": lambda x, y: (x | y) & _NOT_BELOW | x & y,
    "minimum": lambda x, y: (x | y) & _NOT_ABOVE | x & y,
    "where": lambda _, x, y: x & y,
}

"""Drawing programs from seeds: values are computed as statements are drawn, so that each is known to work."""

import numpy as np

import retrograde as rg
from retrograde.errors import RetrogradeError

from .checks import quiet
from .elementary import ELEMENTARY, cast, clipped, complex_step
from .nested import NESTED
from .program import NAMES, Program, array_literal, reads
from .structures import RIVAL_STRUCTURES, STRUCTURES
from .swept import common, sampled

SIZES = (1, 1, 2, 2, 3, 3, 3, 4, 4, 5, 7, 8, 9, 16, 17)
MOST = 600  # elements of a value
#: What an op may raise for operands that do not suit it. Anything else is a defect that the drawing shows.
REFUSALS = (RetrogradeError, TypeError, ValueError, IndexError, OverflowError, NotImplementedError, ZeroDivisionError, np.linalg.LinAlgError)
PRECISIONS = ("float64",) * 11 + ("float32",) * 7 + ("float16", "bfloat16")


class Drawer:
    """A program that grows: `values` are those of its names so far."""

    makers = (*ELEMENTARY, *STRUCTURES, *NESTED, (sampled, 24))
    precisions, others = PRECISIONS, ("float32", "float64", "int64", "int32", "int64", "bool", "uint8", "int8")

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.seed = seed
        self.precision = self.choice(self.precisions)
        self.has_complex = self.chance(0.08)
        self.inputs, self.statements, self.values = [], [], {}
        self.is_tied = self.chance(0.4)  # numbers of few different values, so that equal ones are compared

    def chance(self, probability):
        return self.rng.random() < probability

    def choice(self, things):
        return things[int(self.rng.integers(len(things)))]

    def integer(self, low, high):
        """A number from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def axis(self, x):
        return self.integer(-x.ndim, x.ndim - 1)

    def shape(self):
        """A shape, of no more than 300 elements, seldom of none."""
        while True:
            shape = tuple(self.choice(SIZES) for _ in range(self.choice((0, 1, 1, 1, 2, 2, 2, 3))))
            if shape and self.chance(0.03):
                shape = (*shape[:-1], 0)
            if np.prod(shape, dtype=int) <= 300:
                return shape

    def broadcastable(self, shape):
        """A shape that broadcasts to `shape`."""
        return tuple(1 if self.chance(0.25) else n for n in shape[self.integer(0, len(shape)) if self.chance(0.4) else 0:])

    def array(self, shape, dtype):
        """Numbers of a dtype."""
        kind = np.dtype(dtype).kind
        if kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind in "iu":
            return self.rng.integers(-4 if kind == "i" else 0, 5, shape).astype(dtype)
        numbers = self.rng.integers(-4, 5, shape) / 2 if self.is_tied and self.chance(0.6) else self.rng.uniform(-1.5, 1.5, shape)
        numbers = np.round(numbers, 2)
        return (numbers + 1j * np.round(self.rng.uniform(-1, 1, shape), 2) if kind == "c" else numbers).astype(dtype)

    def new_input(self, array):
        """An argument of the program, called with `array`."""
        name = f"x{len(self.inputs)}"
        text = array_literal(np.asarray(array))
        self.inputs.append((name, text))
        self.values[name] = rg.tensor(eval(text, dict(NAMES)))
        return name

    def named(self, kinds="f", least=0, fits=lambda x: True):
        """The name of a value of some kinds and at least so many axes, likelier a later one; None where there is none."""
        found = [n for n, v in self.values.items() if v.dtype.kind in kinds and v.ndim >= least and fits(v)]
        if not found:
            return None
        weights = np.arange(1, len(found) + 1, dtype=float)
        return str(self.rng.choice(found, p=weights / weights.sum()))

    def mate(self, name, kinds="f"):
        """The name of a value that broadcasts with that of `name`."""
        shape = self.values[name].shape
        return self.named(kinds, fits=lambda v: _broadcasts(v.shape, shape))

    def try_statement(self, maker):
        """Add what `maker` draws, where it works and gives a value of a fair size."""
        text = maker(self)
        if text is None:
            return
        name = f"v{len(self.statements)}"
        statement = text.replace("NEW", name) if "NEW" in text else f"{name} = {text}"
        scope = {**NAMES, **self.values}
        try:
            exec(statement, scope)
        except REFUSALS:
            return
        value = scope[name]
        if isinstance(value, (tuple, list)):
            if not value or "NEW" in text:
                return
            k = self.integer(0, len(value) - 1)
            statement, value = f"{statement}[{k}]", value[k]
        if isinstance(value, rg.Tensor) and value.size <= MOST and _is_tame(np.asarray(value)):
            self.statements.append(statement)
            self.values[name] = value

    def program(self):
        """The whole program."""
        shape = self.shape()
        for i in range(self.integer(1, 3)):
            dtype = self.precision if i == 0 or self.chance(0.8) else self.choice(self.others)
            dtype = "complex128" if self.has_complex and i else dtype
            self.new_input(self.array(shape if i == 0 or self.chance(0.5) else self.broadcastable(shape), dtype))
        wanted = self.choice((3, 4, 5, 6, 6, 7, 8, 8, 9, 10, 12, 16)) if self.chance(0.97) else self.integer(16, 50)
        makers, weights = zip(*self.makers, strict=True)
        weights = np.array(weights, float) / sum(weights)
        for _ in range(8 * wanted):
            if len(self.statements) >= wanted:
                break
            self.try_statement(makers[self.rng.choice(len(makers), p=weights)])
        return Program(tuple(self.inputs), tuple(self.statements), self._outputs(), self.seed)

    def _outputs(self):
        """What nothing reads, so that little is computed in vain; at times something on the way."""
        names = [n for n in self.values if n.startswith("v")] or list(self.values)
        unread = [n for i, n in enumerate(names) if not any(reads(text, n) for text in self.statements[i + 1:])]
        return tuple(dict.fromkeys([*unread[-4:], *(self.choice(names) for _ in range(self.choice((0, 0, 1))))]))


class RivalsDrawer(Drawer):
    """Programs of what other libraries have too, mostly: float64, no writes in place, no loops of ours, few ties, whose slopes are a choice."""

    makers = (*(pair for pair in ELEMENTARY if pair[0] is not complex_step and pair[0] is not cast and pair[0] is not clipped), *RIVAL_STRUCTURES, (common, 40))
    precisions, others = ("float64",), ("float64",)

    def __init__(self, seed):
        super().__init__([seed, 5])
        self.seed, self.has_complex, self.is_tied = seed, False, False


def _broadcasts(a, b):
    return all(n == m or 1 in (n, m) for n, m in zip(a[::-1], b[::-1], strict=False))


def _is_tame(x):
    if x.dtype.kind in "iu":
        return not x.size or abs(int(x.max())) < 10**6 and abs(int(x.min())) < 10**6
    if x.dtype.kind == "b":
        return True
    x = np.abs(x.astype("complex128"))
    return bool(np.all(x < 1e3))


def drawn(seed):
    """The program of a seed."""
    with quiet():
        return Drawer(seed).program()


def drawn_for_rivals(seed):
    """The program of a seed for other libraries."""
    with quiet():
        return RivalsDrawer(seed).program()

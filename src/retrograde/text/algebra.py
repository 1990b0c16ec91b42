"""The algebra of text: cotangents are tuples of feedback, which add by joining, in the order of the uses."""

from functools import partial
from itertools import zip_longest

from ..core.algebra import Algebra
from ..core.function import Function
from ..core.graph import ancestors
from ..core.value import Cotangents, Value
from ..errors import DTypeError, GraphError, ShapeError
from .data import shape_of


class Feedback(tuple):
    """Feedback variables that arrived for one value, in the order of its uses in the forward pass."""

    __slots__ = ()

    def __add__(self, arrived):
        # The walk goes back: what arrives later comes from an earlier use.
        return Feedback((*arrived, *self))


class TextFunction(Function):
    """Base of the ops on text that only compute with the data of their variables, and whose feedback says which way it came."""

    computes_with_data = True


class Gathering(Function):
    """Base of Functions whose `backward` is called once, with all feedback of each output as a tuple, however many uses."""


class Critic(Function):
    """Base of Functions that know what was wrong by themselves, so that `backward` may start behind them without feedback."""


class TextAlgebra(Algebra):
    """How text and feedback behave."""

    native = str

    def wrap(self, data):
        return data

    def describe(self, data):
        shape = shape_of(data)
        return f"a batch of {shape[0]}" if shape else type(data).__name__

    def is_differentiable(self, data):
        return True

    def check_differentiable(self, data):
        """Every kind of text can have feedback."""

    def quietly(self, function, *args):
        return function(*args)

    def seed(self, value):
        if not any(_gives_feedback(record) for record in ancestors([value.record])):
            raise GraphError(f"backward from {value.role!r} needs feedback: pass it, as in y.backward('too long'), or end with "
                             "an evaluator or a judge, which finds the feedback itself")
        return Feedback((self.kind("", f"feedback to {value.role}"),))

    def check_seed(self, value, seed):
        given = self.carried(seed, False, f"feedback to {value.role}")
        for feedback in given:
            _check_fits(value, feedback.data)
        return given

    def zero(self, data):
        return Feedback()

    def carried(self, cotangent, as_value, role="feedback"):
        if isinstance(cotangent, (Feedback, Cotangents)):
            return cotangent
        if cotangent is None:
            return Feedback()
        if isinstance(cotangent, (list, tuple)) and all(isinstance(item, Value) for item in cotangent):
            return Feedback(cotangent)
        if isinstance(cotangent, Value) and cotangent.algebra is not self:
            raise DTypeError(f"feedback to text must be text or plain numbers, got {type(cotangent).__name__}; "
                             "let a bridge such as text.embed put a numeric gradient into words")
        return Feedback((cotangent if isinstance(cotangent, Value) else self.kind(cotangent, role),))

    def shown(self, cotangent):
        return cotangent

    def pull(self, function, ctx, cotangents):
        """`backward` is called once for each feedback, with one variable per output; nothing is merged."""
        if issubclass(function, TextFunction) and len(cotangents) == len(cotangents[0]) == 1:
            return function.backward(ctx, *cotangents[0])  # the commonest of all
        if issubclass(function, Gathering):
            return function.backward(ctx, *cotangents)
        found = None
        for row in _rows(cotangents):
            answer = function.backward(ctx, *row)
            answer = answer if isinstance(answer, tuple) else (answer,)
            given = [None if a is None else self._labelled(a, row[0].path, function) for a in answer]
            found = given if found is None else [_joined(*pair) for pair in zip(found, given, strict=True)]
        return tuple(found or ())

    def _labelled(self, given, path, function):
        """What the `backward` of a Function gave for one input, as feedback that says by which way it came."""
        if given.__class__ is self.kind and len(given.path) > len(path):
            return Feedback((given,))
        return Feedback([
            f if len(f.path) > len(path) else self.kind.remade(f.role, f.data, path=(*path, function.__name__))
            for f in self.carried(given, False)
        ]) or None

    def maker(self, value):
        return partial(self.kind.remade, value.role, path=value.path, failures=value.failures, padding=value.padding)

    def fits(self, operand, result, broadcasts):
        return None

    def fit(self, cotangent, target):
        return cotangent

    def accumulate(self, value, cotangent):
        for feedback in self.carried(cotangent, False):
            value.append_grad(feedback)

    def is_view(self, data, source):
        return False

    def owner(self, data):
        return data

    def find_anomaly(self, data):
        return None

    def find_nan(self, data):
        return None


def _rows(cotangents):
    """The feedback of the outputs of a call: first the first of each, then the second of each, and so on; empty where one lacks."""
    if len(cotangents) == 1 and cotangents[0]:
        return [(feedback,) for feedback in cotangents[0]]
    columns = [c if c.__class__ is Feedback else (c,) for c in cotangents]
    return [_filled(row) for row in zip_longest(*columns)] or [_filled((None,) * len(columns))]


def _filled(row):
    """One feedback of each output; an empty one, which came by the way of the others, where there is none."""
    path = next((feedback.path for feedback in row if feedback is not None), ())
    return [texts.kind.remade("feedback", "", path=path) if feedback is None else feedback for feedback in row]


def _joined(first, then):
    """Feedback in this order; None for none."""
    return then if first is None else first if then is None else Feedback((*first, *then))


def _gives_feedback(record):
    return record.op is not None and issubclass(getattr(record.op, "source", Function), Critic)


def _check_fits(value, data):
    """Raise a ShapeError unless `data` is feedback for all of `value`, or for each sample of its batch."""
    if isinstance(data, list) and (not isinstance(value.data, list) or len(data) != len(value.data)):
        raise ShapeError(f"feedback must be one scalar, or a list with one item for each sample: got {len(data)} items for "
                         f"{value.algebra.describe(value.data)} ({value.role})")


texts = TextAlgebra()

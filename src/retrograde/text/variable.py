"""Variable, a piece of text or a batch with a role and a place in the graph. Its operators are the text ops."""

from collections.abc import Mapping
from copy import deepcopy
from operator import attrgetter
from types import MappingProxyType

from ..core.gradient import backward
from ..core.mode import is_recording
from ..core.value import Projection, Value
from ..errors import ArgumentError, DTypeError, GraphError, ShapeError
from . import basics, shaping
from .algebra import texts
from .data import checked, scalars, shape_of
from .nodes import Node
from .show import as_html, as_text

_new = object.__new__


class Variable(Value):
    """Text that can receive feedback: a string, a number, or a list of them (a batch); `role` says what it is for.

    `.grad` is the list of feedback variables that have arrived. None in a list is a missing sample.

    >>> prompt = rg.text.Variable("Answer briefly.", role="system prompt", requires_grad=True)
    >>> question = rg.text.Variable(" Why is the sky blue?", role="question")
    >>> (prompt + question).backward("too terse")
    >>> prompt.grad[0].data
    'Here is the combined feedback we got for this specific system prompt and other variables: too terse'
    """

    # `path`: by which way feedback came, the roles of the values on it, from the end of the graph to where this one was used.
    __slots__ = ("_data", "path", "role")
    algebra = texts
    #: The errors of the samples that are missing because their call failed, by place.
    failures: Mapping = MappingProxyType({})
    #: Where a split ended early: whether each sample is padding.
    padding: tuple = ()
    #: How often the data has been replaced.
    version = 0

    def __init__(self, data, role="", requires_grad=False):
        if not isinstance(role, str):
            raise DTypeError(f"a role must be a string that says what the variable is for, got {type(role).__name__}")
        self.role, self.record, self.path, self._data = role, None, (), checked(data)
        if requires_grad:
            self.requires_grad = True

    def _replace_data(self, data):
        self._data = checked(data)
        self.version += 1

    data = raw = property(attrgetter("_data"), _replace_data, doc="The text, the number, or the list of them.")

    @staticmethod
    def remade(role, data, record=None, path=(), failures=None, padding=()):
        """A variable with a place in the graph, and with what an op knows of it; data from an op needs no check."""
        self = _new(Variable)
        self.role, self.record, self.path, self._data = role, record, path, data
        if failures:
            self.failures = failures
        if padding:
            self.padding = padding
        return self

    @property
    def requires_grad(self):
        """Whether this variable takes part in the backward pass. Settable on leaves that have a role."""
        return self.record is not None

    @requires_grad.setter
    def requires_grad(self, wanted):
        if wanted and not self.role:
            raise ArgumentError("a variable that requires feedback needs a role that says what it is for, such as "
                                "role=\"system prompt\"")
        Value.requires_grad.__set__(self, wanted)

    # What it has received.
    @property
    def grad(self):
        """The feedback that has arrived, a list of variables. An error on inner variables without `retain_grad()`."""
        if not self.is_leaf and not self.retains_grad:
            raise GraphError(f"{self.role!r} was made by {self.record.name} and keeps no feedback; call retain_grad() on it "
                             "before backward, or read the .grad of a leaf")
        if self._grad is None:
            self._grad = []
        return self._grad

    @grad.setter
    def grad(self, feedback):
        self._grad = []
        for item in feedback or ():
            self.append_grad(item)

    def append_grad(self, feedback):
        """Add a feedback variable to `.grad`."""
        if not isinstance(feedback, Variable):
            raise DTypeError(f"feedback must be a text variable, got {type(feedback).__name__}")
        if self._grad is None:
            self._grad = []
        self._grad.append(feedback)

    def zero_grad(self):
        """Forget all feedback."""
        self._grad = []

    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Hand feedback back to the leaves that this variable was made from.

        gradient      the feedback: a variable, a string, a number, or one for each sample in a list; may be left out
                      behind an evaluator or a judge, which knows what was wrong
        retain_graph  keep the graph, so that `backward` can be called again
        create_graph  keep it too; feedback itself is outside the graph
        inputs        the leaves whose `.grad` is wanted; default: all
        """
        if self.requires_grad and self.is_leaf:
            raise GraphError(f"{self.role!r} is a leaf: no op made it, so there is nothing to walk back; call backward on a "
                             "result, or append_grad to give it feedback")
        keeps = create_graph if retain_graph is None else retain_graph
        backward(self, gradient, keeps, create_graph, inputs)

    # What it is.
    shape = property(lambda self: shape_of(self.data), doc="Sizes of the axes; () of a scalar.")
    is_batch = property(lambda self: isinstance(self.data, list), doc="Whether it holds one item for each sample.")

    @property
    def grad_fn(self):
        """The node of the graph that made this variable, or None."""
        return None if self.is_leaf else Node(self.record)

    @property
    def output_nr(self):
        """The number of this variable among the results of what made it."""
        return self.record.saved[0][0] if isinstance(self.record, Projection) and self.record.saved else 0

    def __repr__(self):
        return as_text(self)

    def _repr_html_(self):
        return as_html(self)

    def __str__(self):
        return "\n".join("" if scalar is None else str(scalar) for scalar in scalars(self.data))

    def __len__(self):
        if not self.is_batch:
            raise DTypeError(f"len() needs a batch, got a single {type(self.data).__name__}; use len(x.data) for its characters")
        return len(self.data)

    def __bool__(self):
        return bool(self.data)

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __hash__(self):
        return object.__hash__(self)

    def linked(self, record):
        """The same text with another history."""
        return self.remade(self.role, self.data, record, self.path, self.failures, self.padding)

    # Copies and pickles keep data, role and requires_grad; the graph stays behind.
    def detach(self):
        """The same data and role outside the graph."""
        return self.remade(self.role, self.data)

    def clone(self):
        """A copy that stays in the graph."""
        return shaping.clone(self)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise GraphError("only leaves can be deep-copied; use x.detach() or x.clone()")
        made = memo[id(self)] = _unpickled(type(self), self.data, self.role, self.requires_grad)
        made.grad = deepcopy(self.grad, memo)
        made.path = self.path
        return made

    def __copy__(self):
        return deepcopy(self)

    def __reduce__(self):
        if not self.is_leaf:
            raise GraphError("only leaves can be pickled; use x.detach()")
        return _unpickled, (type(self), self.data, self.role, self.requires_grad)

    def copy_(self, source):
        """Take over the data of `source`, in place. Not on a leaf that needs feedback, except within rg.no_grad()."""
        if self.record is not None and is_recording():
            raise GraphError(f"{self.role!r} takes part in a backward pass and cannot be written in place; do it within "
                             "rg.no_grad(), or make a new variable")
        data = source.data if isinstance(source, Variable) else source
        if self.is_batch and isinstance(data, list) and len(data) != len(self.data):
            raise ShapeError(f"the batch has {len(self.data)} samples and the source {len(data)}")
        self.data = data
        return self

    def to(self, kind):
        """This variable with each scalar as a `str`, an `int` or a `float`; it stays in the graph."""
        return shaping.to(self, kind)

    # Ops.
    __add__ = basics.add

    def __radd__(self, other):
        return basics.add(other, self)

    def __iadd__(self, other):
        if self.record is not None and self.is_leaf and is_recording():
            raise GraphError(f"`+=` would lose the leaf {self.role!r}, which requires feedback; write y = x + other")
        return basics.add(self, other)

    def split(self, sep=None, maxsplit=-1):
        """The parts of the text, as `str.split` gives them; see `text.split`."""
        return basics.split(self, sep, maxsplit)

    def __getitem__(self, place):
        return shaping.slice(self, place)


texts.kind = Variable.kind = Variable


class Parameter(Variable):
    """Text that a module learns: a variable that requires feedback.

    >>> rg.text.Parameter("Answer briefly.", role="system prompt").requires_grad
    True
    """

    __slots__ = ()

    def __init__(self, data, role, requires_grad=True):
        super().__init__(data, role, requires_grad)


def _unpickled(kind, data, role, requires_grad):
    return kind(data, role, requires_grad=requires_grad)

"""Algebra, what the engine must know about one kind of value: numbers are one kind, text is another."""

from abc import ABC, abstractmethod
from copy import copy
from typing import Any

from .value import Value


class Algebra(ABC):
    """How data and cotangents of one kind of value behave. Cotangents add by `+`.

    has_shapes  whether data has a shape and a dtype, so that operands can differ in them
    conjugates  whether cotangents of the walk may differ from what users see: see `conjugated`
    kind    the subclass of Value that ops of this algebra return
    native  the type of data that needs no `wrap`
    boxed   the dtype of data that holds values, one by one; None if there is none
    constants   types of arguments that have no graph, beside numbers of Python's and `native` data
    narrow  a dtype that results must be brought back to, since the library beneath widens it; None if there is none
    """

    has_shapes: bool = False
    conjugates: bool = False
    kind: Any = None
    native: Any = None
    narrow: Any = None
    boxed: Any = None
    constants: tuple = ()

    @abstractmethod
    def wrap(self, data):
        """What an op's body returned, as data of a value."""

    def stacked(self, values):
        """One value made of a sequence with values in it, which stands where an op takes one operand."""
        return values

    def check_operand(self, kind):  # noqa: B027 - only some kinds have such
        """Raise a DTypeError if operands of a plain `kind` must be `redirected`, and not handed to a kernel."""

    def redirected(self, op, args):
        """What `op` gives for args among which are containers of other libraries, or arrays of values; NotImplemented if there
        are none.
        """
        return NotImplemented

    def settled(self, data, operands):
        """`data`, made from `operands`, in the `narrow` dtype if it belongs in it."""
        return data

    def settled_dtype(self, dtype, operands):
        """The dtype that `settled` gives data of `dtype`."""
        return dtype

    def settled_data(self, value):
        """The data of a value, in the form that is written to."""
        return value.raw

    @abstractmethod
    def describe(self, data):
        """Shape and dtype of data, in words for an error."""

    @abstractmethod
    def is_differentiable(self, data):
        """Whether a gradient with respect to such data makes sense."""

    @abstractmethod
    def check_differentiable(self, data):
        """Raise a DTypeError unless `is_differentiable(data)`."""

    @abstractmethod
    def quietly(self, function, *args):
        """`function(*args)`, without the warnings of derivatives, such as that of 1/0."""

    @abstractmethod
    def seed(self, value):
        """The cotangent with which a backward pass from `value` starts when the user gives none."""

    @abstractmethod
    def check_seed(self, value, seed):
        """The cotangent that the user gave for `value`, as the walk wants it; raise where it does not fit."""

    def conjugated(self, cotangent):
        """A cotangent of the walk in the convention that users see, and the other way round."""
        return cotangent

    @abstractmethod
    def zero(self, data):
        """The cotangent of `data` where nothing has arrived."""

    def carried(self, cotangent, as_value):
        """A cotangent that a rule, a hook or a user gave, as the walk carries it: a value only if `as_value`, or if traced."""
        keeps = as_value or not isinstance(cotangent, Value) or cotangent.is_traced
        return cotangent if keeps else cotangent.raw

    def whole(self, cotangent):
        """A cotangent of the walk as the derivative that functions give: of the form of what it belongs to."""
        return cotangent

    def parts(self, value):
        """The values that hold what a gradient in a trace is: itself, or its parts, of which its `maker` makes another."""
        return (value,)

    def shown(self, cotangent):
        """A cotangent of the walk as hooks and Functions see it."""
        return self.kind(cotangent)

    def shown_as(self, cotangent, kind):
        """`shown`, as one of `kind`; a cotangent that is a value already as such a value."""
        return cotangent if isinstance(cotangent, Value) else self.shown(cotangent)

    def separate(self, cotangent):
        """A value of what a cotangent is, which nobody else holds: whoever gets it may write to it."""
        return cotangent if isinstance(cotangent, Value) else self.shown(copy(cotangent))

    def pull(self, function, ctx, cotangents):
        """What `function.backward` answers to the cotangents of its outputs, given as they are `shown`."""
        return function.backward(ctx, *cotangents)

    def made(self, data, record=None, kind=None):
        """A value as ops and walks make it: what it holds is known, and needs none of the checks of a constructor. It is of
        another `kind` than the algebra's if that is given.
        """
        return (kind or self.kind)(data, record)

    def maker(self, value):
        """What makes values like `value`, called with data and a record or None."""
        return self.made

    @abstractmethod
    def fits(self, operand, result, broadcasts):
        """What the cotangent of `operand` must be brought to, or None where it comes out right by itself."""

    @abstractmethod
    def fit(self, cotangent, target):
        """`cotangent` brought to the `target` that `fits` gave: undoes broadcasting, once, for every rule."""

    def spec(self, data):  # noqa: B027 - only some kinds have shapes
        """What the cotangent of `data` must be brought to, if a rule of a user's makes it; None where nothing is checked."""

    def fit_foreign(self, cotangent, target, name, number):
        """`fit` of what the rule of a user's op, called `name`, returned for input `number`; raises where it cannot be fitted."""
        return self.fit(cotangent, target)

    @abstractmethod
    def accumulate(self, value, cotangent):
        """Add `cotangent` to `value.grad`, in memory that no other gradient shares."""

    def accumulate_linked(self, value, cotangent):
        """As `accumulate`, of what may be differentiated in turn: old gradients stay as they are, sums are new."""
        self.accumulate(value, cotangent)

    @abstractmethod
    def is_view(self, data, source):
        """Whether `data` shows the memory of `source`."""

    @abstractmethod
    def owner(self, data):
        """The object that owns the memory of `data`, which all views of it share."""

    @abstractmethod
    def find_anomaly(self, data):
        """The index of the first NaN or infinity in `data`, or None."""

    @abstractmethod
    def find_nan(self, data):
        """The index of the first NaN in `data`, or None; of the first anomaly where kinds do not differ."""
        return self.find_anomaly(data)

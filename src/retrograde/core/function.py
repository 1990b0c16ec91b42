"""Function, a custom op in PyTorch's manner, for any kind of value."""

from typing import Any

from ..errors import ArgumentError, GraphError, MissingRuleError, TraceError
from .dispatch import specs_of
from .mode import current, is_recording, unrecorded
from .value import Projection, Record, Unsettled, Value


class Context:
    """What a Function's forward pass leaves for its backward pass. Any attribute may be set on it."""

    materializes = True
    #: Whether `forward` was given no value, so that there will be no `backward`: data are kept as well, for nothing.
    is_plain = False
    saved_tensors = constants = ()
    #: For each argument of `apply`, whether its gradient is wanted.
    needs_input_grad: tuple = ()

    def save_for_backward(self, *values):
        """Keep inputs, outputs or other values for `backward`, which reads them as `saved_tensors`.

        Only values saved in this way are linked to the graph again for second derivatives, and are checked for having
        been written to in between.
        """
        for value in values:
            if value is not None and not isinstance(value, Value) and not self.is_plain:
                raise ArgumentError(f"save_for_backward takes tensors or None, got {type(value).__name__}; set anything "
                                    "else as an attribute of ctx")
        self.saved_tensors = values

    def mark_non_differentiable(self, *outputs):
        """Declare that these outputs have no gradient."""
        self.constants = outputs

    def set_materialize_grads(self, wanted):
        """Whether `backward` gets zeros (the default) or None for an output that received no gradient."""
        self.materializes = wanted


class Function:
    """Base of custom ops. Subclass it with static methods and call `apply`.

    Either `forward(ctx, *args)`, or `forward(*args)` and `setup_context(ctx, inputs, output)`; then
    `backward(ctx, *grad_outputs)`, which returns one gradient per argument of `apply`, None where there is none.
    Arguments may be anything; outputs are a value or a tuple of values. Of arrays alone `forward` is called as it is, and may
    return arrays. `backward` written in ops can be differentiated again.

    >>> class Cube(rg.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * 3 * x * x
    >>> x = rg.tensor(2.0, requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor(12.)
    """

    @staticmethod
    def forward(*args):
        """The outputs from the arguments; the first argument is `ctx` unless `setup_context` is defined."""
        raise MissingRuleError("a Function needs a static method forward")

    setup_context: Any = None
    #: Whether `forward` computes with plain data alone and returns only new values that nothing else holds. Nothing in it can be
    #: recorded then, and its results take their place in the graph themselves; otherwise copies of them do.
    computes_with_data = False

    @staticmethod
    def backward(ctx, *grad_outputs):
        """One gradient per argument of `apply`, from one per output (None for an output that received none)."""
        raise MissingRuleError("a Function needs a static method backward to be differentiated")

    @classmethod
    def apply(cls, *args) -> Any:
        """Run the forward pass and record it."""
        parents = tuple([a.record if isinstance(a, Value) else None for a in args])
        records = any(parents) and is_recording()
        ctx = Context()
        if not any([isinstance(a, Value) for a in args]):
            ctx.is_plain = True
        ctx.needs_input_grad = tuple(map(bool, parents)) if records else (False,) * len(parents)
        try:
            if cls.setup_context is not None:
                output = unrecorded(cls._run_forward, ctx, args)
            else:
                output = cls.forward(ctx, *args) if cls.computes_with_data else unrecorded(cls.forward, ctx, *args)
        except TraceError as error:
            error.add_note(f"{cls.__name__}.forward is traced, like all that a jitted or vmapped function calls; what computes "
                           "with arrays can be an op of a family instead, such as @rg.ops.elementwise()")
            raise
        # Nothing can be differentiated, so that arrays may come back as arrays.
        if ctx.is_plain:
            return output
        is_one = isinstance(output, Value)
        outputs = (output,) if is_one else _checked(cls, output)
        mode = current()
        if mode is not None and mode.tracer is not None:
            outputs = tuple(mode.tracer.function_called(cls, ctx, args, outputs))
        if not records:
            return outputs[0] if is_one else outputs
        constants = ctx.constants
        if is_one:
            return _linked(cls, outputs[0], _recorded(_Call, cls, ctx, args, parents, outputs), constants)
        record = _recorded(_CallOfSeveral, cls, ctx, args, parents, outputs)
        return tuple([_linked(cls, value, record.op.result(record, i), constants) for i, value in enumerate(outputs)])

    @classmethod
    def _run_forward(cls, ctx, args):
        output = cls.forward(*args)
        cls.setup_context(ctx, args, output)
        return output


def _checked(cls, output):
    """The values that a forward pass gave, if it gave such."""
    outputs = output if isinstance(output, tuple) else (output,)
    for value in outputs:
        if not isinstance(value, Value):
            raise GraphError(f"{cls.__name__}.forward must return a value or a tuple of values, got {type(value).__name__}")
    return outputs


def _recorded(kind, cls, ctx, args, parents, outputs):
    """The record of one call. Its context keeps no output, which would keep the graph alive."""
    call, saved, made = kind().filled(cls, ctx, args, outputs), (), Record
    fits = specs_of([a.raw if isinstance(a, Value) else a for a in args], parents)
    if ctx.saved_tensors:
        saved = tuple([None if value is None else value.kept() for value in ctx.saved_tensors])
        made = Unsettled if any([isinstance(s, Value) for s in saved]) else Record
        ctx.saved_tensors = ()  # the record keeps the data
    if ctx.constants:
        ctx.constants = ()
    return made().filled(call, parents, saved, fits)


def _linked(cls, value, record, constants):
    """An output as the user gets it."""
    if constants and any([value is c for c in constants]) or not value.algebra.is_differentiable(value.raw):
        record = None
    if not cls.computes_with_data:
        return value.linked(record)
    value.record = record
    return value


class _Call:
    """The op of one call of a Function: its joint rule runs `backward` on the saved values.

    Of one output there is no projection: the cotangent of the call is that of the output itself. Like a record it has no
    constructor but `filled`.
    """

    # There is one for every call, so that it should be small.
    __slots__ = ("_makers", "_places", "algebra", "context", "kind", "source")
    rules, is_foreign = None, True
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)

    def filled(self, cls, ctx, args, outputs):
        """This op, with the Function that was called and what its forward pass left."""
        self.source, self.context = cls, ctx
        self.algebra, self.kind = outputs[0].algebra, outputs[0].kind
        self._makers = self._places = ()
        if ctx.saved_tensors:
            self._makers = [None if value is None else value.algebra.maker(value) for value in ctx.saved_tensors]
            self._places = [_place(value, args, outputs) for value in ctx.saved_tensors]
        return self

    @property
    def name(self):
        """The name of the Function."""
        return self.source.__name__

    def result(self, record, i):
        """The record of output `i`, where `record` is that of the call."""
        return record

    def revived(self, record):
        """What was saved as values, linked to the graph where they are arguments or outputs of the call."""
        values = []
        for data, made, (where, i) in zip(record.saved, self._makers, self._places, strict=True):
            link = None
            if where == "argument":
                link = record.parents[i]
            elif where == "output":
                link = self.result(record, i)
            values.append(data if made is None else data.linked(link) if isinstance(data, Value) else made(data, link))
        return tuple(values)

    def function(self, g, needs, *saved):
        """The gradients of all arguments from those of the outputs."""
        ctx, algebra = self.context, self.algebra
        ctx.needs_input_grad = needs
        if not saved:
            found = algebra.pull(self.source, ctx, self._given(g))
        else:
            ctx.saved_tensors = tuple([_as_value(s, made) for s, made in zip(saved, self._makers, strict=True)])
            try:
                found = algebra.pull(self.source, ctx, self._given(g))
            finally:
                ctx.saved_tensors = ()
        found = found if isinstance(found, tuple) else (found,)
        return tuple([algebra.conjugated(c) for c in found]) if algebra.conjugates else found

    def _given(self, g):
        """What `backward` is given for the outputs."""
        algebra = self.algebra
        if algebra.conjugates:
            g = algebra.conjugated(g)
        return (algebra.shown_as(g, self.kind),)


class _CallOfSeveral(_Call):
    """The op of a call with a tuple of outputs, each with a projection as its record."""

    __slots__ = ("_algebras", "_kinds", "_zeros")

    def filled(self, cls, ctx, args, outputs):
        self._algebras, self._kinds = [value.algebra for value in outputs], [value.kind for value in outputs]
        self._zeros = [value.algebra.zero(value.raw) if ctx.materializes else None for value in outputs]
        return super().filled(cls, ctx, args, outputs)

    def result(self, record, i):
        return Projection(record, i, len(self._algebras))

    def _given(self, g):
        given = [zero if c is None else c for c, zero in zip(g, self._zeros, strict=True)]
        return [None if c is None else algebra.shown_as(algebra.conjugated(c), kind)
                for c, algebra, kind in zip(given, self._algebras, self._kinds, strict=True)]


def _as_value(data, made):
    return data if data is None or isinstance(data, Value) else made(data)


def _place(value, args, outputs):
    """Where a saved value stands in the call."""
    for where, values in (("argument", args), ("output", outputs)):
        for i, candidate in enumerate(values):
            if value is candidate and value is not None:
                return where, i
    return None, 0

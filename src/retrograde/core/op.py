"""Op, everything that the engine knows about one operation, and the decorator that registers it."""

import sys
from collections.abc import Callable
from functools import cached_property, update_wrapper, wraps
from typing import Any, ParamSpec, Protocol, cast

from ..errors import ArgumentError, DTypeError, ShapeError
from ..shapes import broadcast
from . import registry
from .calls import CROSSED, NOTHING, direct, dispatcher
from .facts import Facts
from .rule import RESULT, Rule, pair_packer
from .value import Projection, Value

Arguments = ParamSpec("Arguments")
_PACKAGE = f"{__name__.partition('.')[0]}."


class OpFunction(Protocol[Arguments]):
    """What users call for an op, with the signature of its kernel; on a class it is a method."""

    op: "Op"
    __name__: str

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Any: ...
    def __get__(self, instance, owner=None) -> Callable[..., Any]: ...
    def defvjp(self, *rules: Callable | None) -> None: ...
    def defvjp_all(self, rule: Callable) -> None: ...


class Op(Facts):
    """One operation: its forward pass on plain data, its derivative and its facts, of which `Facts` has those that are told.

    name              the name under which the registry finds it
    family            what derives the facts that ops of one kind share
    algebra           the kind of value that it returns
    kernel            the forward pass on plain data, called with `arguments` by position
    large             what is called in its place for operands of at least `fewest` elements, None if nothing is faster. `faster`
                      makes it, and what is called in the place of rules: it has `fewest`, and is called with a name, a function,
                      the same function of values, and the defaults of its parameters
    run               `large` where there is one, else the kernel
    call              what users call: dispatches to the kernel and records
    arguments         the names of all arguments; `operands` are the positions of those that can have a derivative, which are those
                      by position alone and the `optional` ones, `parameters` those of the others
    rules, joint      one rule per operand, or one for all operands together
    pairs             for two operands with a rule each, what gathers what both rules read, as `pair_packer` makes it; `NOTHING` and
                      `CROSSED` of the two commonest kinds of ops, for which their dispatch has it written out
    is_foreign        whether it was written outside of this package: the shapes of what its rules return are checked then, and of
                      what the kernel returns where operands are broadcast
    """

    def __init__(self, kernel, *, family, algebra, name=None, optional=(), faster=None, **facts):
        super().__init__(**facts)
        self.rules: Any = None
        self.pairs: Any = None
        self.joint: Any = None
        self.call: Any = None
        self.name = name or kernel.__name__
        self.told = self.name if self.told is None else self.told
        self.kernel: Any = kernel
        self.family, self.algebra, self.aliases, self.skips = family, algebra, tuple(self.aliases), dict(self.skips or {})
        self.expansion = kernel if self.is_composite else self.expansion
        self.is_foreign = not kernel.__module__.startswith(_PACKAGE)
        # Only our own kernels are known to make nothing else of small arrays than of large ones.
        self.keeps_sizes = self.keeps_sizes and not self.is_foreign
        self._check_facts()
        self._read_signature(optional)
        self._check_in_kernel()
        # Compiled code is known by names, which do not stand for what others have written.
        self.faster = None if self.is_foreign else faster
        self.fewest = sys.maxsize if self.faster is None else self.faster.fewest
        self.large: Any = self._large(kernel)
        self.run: Any = self.large or direct(self.kernel)

    def _check_facts(self):
        """Raise an ArgumentError if facts do not go together."""
        if self.has_effect and not self.broadcasts and self.result_shape is None:
            raise ArgumentError(f"op {self.name!r} has an effect, so that its kernel cannot be asked for the shape of its result; "
                                "give it result_shape=, a function of its arguments")
        if any(not reason for reason in self.skips.values()):
            raise ArgumentError(f"op {self.name!r} skips {list(self.skips)} without a reason; say why for each")

    def _check_in_kernel(self):
        """Let the kernel check what would be wrong without a word."""
        if self.is_foreign and self.broadcasts:
            self.kernel = _shape_checked(self.kernel, self.operands)
        if self.is_real:
            self.kernel = _real_checked(self.kernel)

    def _large(self, kernel):
        """What is called for large operands, None if nothing is faster."""
        if self.faster is None:
            return None
        # Complex arguments are refused below, once; and the names of arguments are those of the function itself.
        function = self.kernel.__wrapped__ if self.is_real else self.kernel
        large = self.faster((self.name,), function, self._on_values, kernel.__defaults__ or ())
        return _real_checked(large) if self.is_real else large

    def __repr__(self):
        return f"<op {self.name} ({self.family})>"

    @property
    def doc(self):
        """The reference page of the op."""
        return self.kernel.__doc__

    @property
    def arity(self):
        """The number of operands; None where it is not fixed."""
        return None if self.is_variadic else len(self.operands)

    def _read_signature(self, optional):
        code = self.kernel.__code__
        self.arguments = code.co_varnames[: code.co_argcount]
        self._check_names()
        leading = code.co_posonlyargcount
        extra = [self.arguments.index(name) for name in optional]
        self.operands = (*range(leading), *extra)
        #: The positions of all other arguments.
        self.parameters = tuple([i for i in range(len(self.arguments)) if i not in self.operands])
        #: The places among the parents of a record, by what rules read; of an op of many operands all have one place.
        self._parents = {(position, None): place for place, position in enumerate(self.operands)}
        given = self.kernel.__defaults__ or ()
        #: What parameters are by default, by position.
        self.defaults = dict(enumerate(given, len(self.arguments) - len(given)))
        #: The number of operands if they stand before all other arguments.
        self.leading = len(self.operands) if self.operands == tuple(range(len(self.operands))) else None

    def _check_names(self):
        """Raise an ArgumentError if an argument has a name by which rules read something else."""
        read = {"z": "the result", **{f"{name}_shape": f"the shape of {name}" for name in self.arguments}}
        if self.is_foreign:
            read["g"] = "the cotangent"
        for name in self.arguments:
            if name in read:
                raise ArgumentError(f"{self.name} has an argument {name}, and in rules {name} is {read[name]}; give it another "
                                    "name")

    def _on_values(self, *args):
        return self.call(*args)

    def defvjp(self, *rules):
        """Give the derivative: one rule per operand, None for an operand without one.

        A rule's first argument is the cotangent `g`; the others are named after what it reads: an argument of the op,
        `z` for the result, or `x_shape` for the shape of argument `x` alone. Only what is named is kept in memory.
        """
        if self.arity is None or len(rules) != self.arity:
            raise ArgumentError(f"{self.name} has {self.arity} operands, and defvjp got {len(rules)} rules")
        self.rules = tuple([None if rule is None else self._eager_rule(rule, 1, i) for i, rule in enumerate(rules)])
        # Rules may be given anew; what was derived of the old ones is forgotten.
        self.__dict__.pop("packs", None)
        self.pairs = _pairs(self.rules)

    def _eager_rule(self, function, leading, place):
        rule, defaults = Rule(self, function, leading), self.defaults
        # What reads the cotangent alone takes NumPy one pass at most.
        # A rule that somebody else gives for an op of ours is theirs, and is called as it is.
        if self.faster is None or not function.__module__.startswith(_PACKAGE) or function.__code__.co_argcount == 1:
            return rule
        parameters = tuple([defaults[i] for i, _ in rule.sources if i in defaults])
        rule.function = self.faster((self.name, place), function, function, parameters)
        return rule

    def defvjp_all(self, rule):
        """Give the derivative as one rule that returns a cotangent for each operand.

        It is called with the cotangent, then `needs`, a tuple that says which operands need one, then what it names.
        """
        self.joint = self._eager_rule(rule, 2, None)

    @cached_property
    def packs(self):
        """How the arguments of each rule are gathered, None where it reads nothing; None if the rules are not one per operand."""
        return self.rules and tuple([rule.pack if rule and rule.sources else None for rule in self.rules])

    @property
    def has_rule(self):
        """Whether a derivative has been given."""
        return self.rules is not None or self.joint is not None

    def revived(self, record):
        """What `record` saved, with operands and result as values of the graph, so that its rules are recorded."""
        if self.rules is None:
            return () if self.joint is None else self._linked(self.joint, record.saved, record)
        return [saved and self._linked(rule, saved, record) for rule, saved in zip(self.rules, record.saved, strict=True)]

    def _linked(self, rule, saved, record):
        """What `rule` reads, with the history that `record` knows of."""
        found = None
        for i, source in enumerate(rule.sources):
            if source == _OF_RESULT:
                count = len(saved[i]) if self.is_multiple else 0
                made = tuple([Projection(record, k, count) for k in range(count)]) if self.is_multiple else record
            else:
                place = self._parents.get(source)
                made = None if place is None else record.parents if self.is_variadic else record.parents[place]
            if made is not None:
                found = list(saved) if found is None else found
                found[i] = _linked(saved[i], made)
        return saved if found is None else found


def _shape_checked(kernel, operands):
    """`kernel`, which raises unless it returns what has the shape of its operands, broadcast together."""

    @wraps(kernel)
    def checked(*args):
        result = kernel(*args)
        if any([isinstance(args[i], (list, tuple)) for i in operands]):
            return result
        shape = broadcast([getattr(args[i], "shape", ()) for i in operands])
        given = getattr(result, "shape", ())
        if given != shape:
            raise ShapeError(f"an op by element must return one number for each element of its operands, in shape {shape}, got "
                             f"{given}; use another family, such as @rg.ops.reduction, or @rg.ops.movement")
        return result

    return checked


def _real_checked(kernel):
    """`kernel`, which raises for complex arguments."""

    @wraps(kernel)
    def checked(*args):
        for x in args:
            if isinstance(x, complex) or getattr(getattr(x, "dtype", None), "kind", "") == "c":
                found = getattr(x, "dtype", "complex")
                raise DTypeError(f"real numbers are needed, got {found}; take the real and the imaginary part one by one")
        return kernel(*args)

    return checked


def _pairs(rules):
    """What gathers what both of two rules read; None where there are not two."""
    if len(rules) != 2:
        return None
    read = tuple([rule.sources if rule else () for rule in rules])
    return _COMMONEST.get(read) or pair_packer(*read)


# Sums read nothing, products the other operand.
_COMMONEST = {((), ()): NOTHING, (((1, None),), ((0, None),)): CROSSED}
_OF_RESULT = (RESULT, None)


def _linked(data, record):
    """`data` as a value with `record` as its history; the data itself if it has none."""
    if isinstance(record, tuple):
        return tuple([_linked(*pair) for pair in zip(data, record, strict=True)])
    if record is None:
        return data
    return data.linked(record) if isinstance(data, Value) else record.algebra.made(data, record)


def define(kernel: Callable[Arguments, Any], **facts) -> OpFunction[Arguments]:
    """Make and register an op from its kernel; returns the function that users call."""
    return publish(registry.register(Op(kernel, **facts)))


def publish(op) -> OpFunction:
    """The function that users call for `op`: it carries the op, its docs and `defvjp`."""
    call = cast("Any", update_wrapper(dispatcher(op), op.kernel))
    call.__name__ = op.name
    call.op, op.call = op, call
    call.defvjp = op.defvjp
    call.defvjp_all = op.defvjp_all
    return call

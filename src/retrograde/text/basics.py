"""Add, Sum and Split: the ops that text and numbers share, as Functions and as plain functions."""

from itertools import zip_longest

from ..core.value import Value
from ..errors import ArgumentError, DTypeError
from .algebra import TextFunction, texts
from .data import as_text, is_number, paired, spread, tagged
from .wording import combined, handed


class Add(TextFunction):
    """The sum of two variables: see `add`."""

    @staticmethod
    def forward(ctx, x, y):
        check_variables("Add", (x, y))
        ctx.roles = left, right = x.role, y.role
        ctx.role = role = f"{left} and {right}" if left and right else left or right
        left, right = x.data, y.data
        if left.__class__ is right.__class__ is str:
            return texts.kind.remade(role, left + right)
        return made(paired(_plus, left, right), role, (x, y))

    @staticmethod
    def backward(ctx, g):
        return handed_to_all(ctx, g)


class Sum(TextFunction):
    """The sum of a list of variables: see `sum`."""

    @classmethod
    def apply(cls, x):
        """The sum of the variables in the list `x`."""
        if not isinstance(x, (list, tuple)) or not x:
            raise ArgumentError(f"Sum needs a list of at least one variable, got {x!r}")
        return super().apply(*x)

    @staticmethod
    def forward(ctx, *x):
        check_variables("Sum", x)
        ctx.roles = [variable.role for variable in x]
        ctx.role = merged(ctx.roles)
        return texts.kind(paired(_total, *[variable.data for variable in x]), ctx.role)

    @staticmethod
    def backward(ctx, g):
        return handed_to_all(ctx, g)


class Split(TextFunction):
    """The parts of a text: see `split`."""

    @classmethod
    def apply(cls, x, sep=None, maxsplit=-1):
        """The parts of `x`, a tuple of variables."""
        return super().apply(x, _plain(sep), _plain(maxsplit))

    @staticmethod
    def forward(ctx, x, sep, maxsplit):
        check_variables("Split", (x,))
        ctx.role, ctx.is_padding = x.role, None
        if not x.is_batch:
            return tuple([texts.kind(part, _part(x.role, i)) for i, part in enumerate(_parts(x.data, sep, maxsplit))])
        columns = list(zip_longest(*[_parts(text, sep, maxsplit) for text in x.data])) or [()]
        ctx.is_padding = [[part is None for part in column] for column in columns]
        return tuple([
            texts.kind.remade(_part(x.role, i), [as_text(part) for part in column], padding=tuple(padding))
            for i, (column, padding) in enumerate(zip(columns, ctx.is_padding, strict=True))
        ])

    @staticmethod
    def backward(ctx, *given):
        data = [g.data for g in given]
        by_sample = any(isinstance(said, list) for said in data)
        if ctx.is_padding and by_sample:
            # What was said of padding was not said of the text.
            data = [spread(lambda is_padding, said: "" if is_padding else said, *pair)
                    for pair in zip(ctx.is_padding, data, strict=True)]
        said = spread(lambda *parts: "" if by_sample and not any(map(as_text, parts)) else tagged(parts), *data)
        first = next((g for g in given if g.data not in ("", None)), given[0])
        return handed(first, combined(said, ctx.role), ctx.role, f"parts of {ctx.role}"), None, None


def add(x, y, /):
    """`x` and `y` together: numbers are added, texts put one after the other; batches item by item.

    A number beside a text is converted to text; a missing sample stays missing, for the same reason. Each input receives the
    feedback, introduced in the words of `feedback_style`. Raises a DTypeError if one is no variable, and a ShapeError if a
    scalar meets a batch or batches differ in length.

    >>> rg.text.add(rg.text.Variable([1, 2], role="counts"), rg.text.Variable([0.5, 3], role="more"))
    Variable([1.5, 5.0], role='counts and more')
    """
    return Add.apply(x, y)


def sum(x, /):  # noqa: A001 - read as `text.sum`
    """The variables in the list `x` together: numbers are added, texts put between tags; batches item by item.

    A number among texts is converted to text, and missing samples are left out. `text.items` takes the tags off again. Each
    input receives the feedback, introduced in the words of `feedback_style`.

    >>> rg.text.sum([rg.text.Variable("abc", role="first"), rg.text.Variable("def", role="second")])
    Variable('<ITEM>abc</ITEM><ITEM>def</ITEM>', role='first and second')
    """
    return Sum.apply(x)


def split(x, /, sep=None, maxsplit=-1):
    """The parts of a text, a tuple of variables, as `str.split` gives them.

    Of a batch, every part is a batch, in which short splits are filled up with "" (`.padding` says where). The feedback of the
    parts comes back together, one item a part, empty where a part received none.

    >>> [part.data for part in rg.text.split(rg.text.Variable(["a b", "c"], role="letters"))]
    [['a', 'c'], ['b', '']]
    """
    return Split.apply(x, sep, maxsplit)


def merged(roles):
    """The role of what was made of things with these roles."""
    return " and ".join(filter(None, roles))


def made(data, role, inputs):
    """The variable of that role which an op made from others: it knows why samples are missing if they know it."""
    variable = texts.kind(data, role)
    if isinstance(data, list) and None in data:
        variable.failures = {i: error for x in inputs for i, error in x.failures.items() if i < len(data) and data[i] is None}
    return variable


def check_variables(name, values):
    """Raise a DTypeError unless all of `values` are text variables."""
    kind = texts.kind
    for value in values:
        if not isinstance(value, kind):
            raise DTypeError(f"{name} takes text variables, got {type(value).__name__}; wrap it: text.Variable({value!r}, "
                             "role=...)")


def handed_to_all(ctx, g):
    """The feedback `g` for each input of an op that has put `ctx.roles` together to one `ctx.role`."""
    data, path, roles = g.data, g.path + (ctx.role,), ctx.roles  # noqa: RUF005 - a display would take twice as long
    given = [None] * len(roles)
    for i, needed in enumerate(ctx.needs_input_grad):
        if needed:
            given[i] = texts.kind.remade(f"feedback to {roles[i]}", combined(data, roles[i]), None, path)
    return tuple(given)


def _plus(x, y):
    if x is None or y is None:
        return None
    return x + y if is_number(x) == is_number(y) else as_text(x) + as_text(y)


def _total(*scalars):
    known = [scalar for scalar in scalars if scalar is not None]
    if not known:
        return None
    if not all(map(is_number, known)):
        return tagged(known)
    total = known[0]
    for number in known[1:]:
        total += number
    return total


def _parts(text, sep, maxsplit):
    if text is None:
        return [None]
    if not isinstance(text, str):
        raise DTypeError(f"split takes text, got {type(text).__name__}: {text!r}; convert it with x.to(str)")
    return text.split(sep, maxsplit) or [""]


def _part(role, i):
    return f"split part {i} of {role}"


def _plain(argument):
    return argument.data if isinstance(argument, Value) else argument

"""Text put together and taken apart: join, format, slice, select, branch, and copies in the graph."""

import builtins

from ..core.value import Value
from ..errors import ArgumentError, DTypeError, OutOfRangeError, ParseError
from .algebra import TextFunction, texts
from .basics import check_variables, handed_to_all, made, merged
from .data import as_text, checked, filled, is_number, mapped, places, spread
from .wording import handed


class Join(TextFunction):
    """Texts one after another: see `join`."""

    @staticmethod
    def forward(ctx, separator, *parts):
        check_variables("join", parts)
        ctx.roles = [separator.role, *[part.role for part in parts]]
        ctx.role = merged(ctx.roles[1:])
        data = spread(lambda between, *pieces: None if None in pieces else between.join(map(as_text, pieces)),
                      separator.data, *[part.data for part in parts])
        return made(data, ctx.role, parts)

    @staticmethod
    def backward(ctx, g):
        return handed_to_all(ctx, g)


class Format(TextFunction):
    """A template with its places filled: see `format`."""

    @staticmethod
    def forward(ctx, names, template, *variables):
        check_variables("format", (template, *variables))
        _check_places(names, template.data)
        ctx.roles = ["", template.role, *[variable.role for variable in variables]]
        ctx.role = template.role or merged(ctx.roles)
        data = spread(lambda pattern, *values: None if None in values else
                      filled(as_text(pattern), dict(zip(names, values, strict=True))),
                      template.data, *[variable.data for variable in variables])
        return made(data, f"filled {ctx.role}", variables)

    @staticmethod
    def backward(ctx, g):
        return handed_to_all(ctx, g)


class Slice(TextFunction):
    """A piece of a text, or some samples of a batch: see `slice`."""

    @staticmethod
    def forward(ctx, x, place):
        check_variables("slice", (x,))
        if not isinstance(x.data, (str, list)):
            raise DTypeError(f"a slice is taken of text or of a batch, got {type(x.data).__name__}: {x.data!r}")
        try:
            data = x.data[place]
        except IndexError:
            raise OutOfRangeError(f"index {place} is outside {x.role!r}, which has length {len(x.data)}") from None
        ctx.place, ctx.size, ctx.role = place, len(x.data) if x.is_batch else None, x.role
        chosen = range(len(x.data))[place]
        if data is None:
            raise ArgumentError(f"item {place} of {x.role!r} is missing{_because(x.failures.get(chosen))}; leave out the samples "
                                "that are None in .data")
        variable = texts.kind(data, f"{_said(place)} of {x.role}")
        if x.failures and isinstance(data, list):
            variable.failures = {k: x.failures[i] for k, i in enumerate(chosen) if i in x.failures}
        return variable

    @staticmethod
    def backward(ctx, g):
        data = g.data
        if ctx.size is not None:
            chosen = range(ctx.size)[ctx.place]
            data = [""] * ctx.size
            for i, said in [(chosen, g.data)] if isinstance(chosen, int) else _shared(chosen, g.data):
                data[i] = said
        return handed(g, data, ctx.role, f"{_said(ctx.place)} of {ctx.role}"), None


class Select(TextFunction):
    """One of several variables: see `select`."""

    @staticmethod
    def forward(ctx, choice, *options):
        check_variables("select", options)
        wrong = [i for i in (choice if isinstance(choice, list) else [choice]) if not 0 <= i < len(options)]
        if wrong:
            raise OutOfRangeError(f"select has options 0 to {len(options) - 1}, got {wrong[0]}")
        ctx.choice, ctx.roles = choice, [option.role for option in options]
        ctx.role = f"choice of {' or '.join(dict.fromkeys(ctx.roles))}"
        if not isinstance(choice, list):
            return made(options[choice].data, ctx.role, [options[choice]])
        variable = texts.kind(spread(lambda i, *values: values[i], choice, *[option.data for option in options]), ctx.role)
        variable.failures = {k: options[i].failures[k] for k, i in enumerate(choice) if k in options[i].failures}
        return variable

    @staticmethod
    def backward(ctx, g):
        return None, *[_kept(ctx, g, i, role) if needed else None
                       for i, (role, needed) in enumerate(zip(ctx.roles, ctx.needs_input_grad[1:], strict=True))]


class Convert(TextFunction):
    """Each scalar as another kind: see `to`."""

    @staticmethod
    def forward(ctx, x, kind):
        check_variables("to", (x,))
        ctx.role, failures = x.role, dict(x.failures)
        if not isinstance(x.data, list):
            return texts.kind(_converted(x.data, kind, x.role), x.role)
        data = [_tried(i, item, kind, x.role, failures) for i, item in enumerate(x.data)]
        return texts.kind.remade(x.role, checked(data), failures=failures)

    @staticmethod
    def backward(ctx, g):
        return handed(g, g.data, ctx.role, ctx.role), None


def join(parts, separator=""):
    r"""The texts of a list of variables, one after another, with `separator` between them.

    A single text beside batches goes to every sample, and a sample that misses a part is missing. Each part receives the
    feedback, and so does a separator that is a variable with requires_grad=True.

    >>> lines = [rg.text.Variable(line, role="rule") for line in ("Be brief.", "Be kind.")]
    >>> rg.text.join(lines, " ").data
    'Be brief. Be kind.'
    """
    if not parts:
        raise ArgumentError("join needs at least one variable, got an empty list")
    return Join.apply(as_variable(separator), *parts)


def format(template, /, **variables):  # noqa: A001 - read as `text.format`
    """`template` with each {name} replaced by the variable of that name; {{name}} stays {name}.

    The template and the variables receive the feedback. A batch among them makes a batch, in which a sample that misses a
    value is missing. Raises an ArgumentError if a place has no variable, or a variable no place.

    >>> question = rg.text.Variable(["Why?", "How?"], role="question")
    >>> rg.text.format("Q: {question} A:", question=question).data
    ['Q: Why? A:', 'Q: How? A:']
    """
    return Format.apply(list(variables), as_variable(template), *[as_variable(v, name) for name, v in variables.items()])


def slice(x, /, start, stop=None, step=None):  # noqa: A001 - read as `text.slice`
    """Characters of a text, or samples of a batch: `slice(x, 2)` is `x[2]` and `slice(x, 2, 5)` is `x[2:5]`.

    A piece of text hands its feedback back as it is; samples hand theirs to their places.

    >>> rg.text.slice(rg.text.Variable(["a", "b", "c"], role="letters"), 1, 3).data
    ['b', 'c']
    """
    is_place = stop is None and step is None
    return Slice.apply(x, start if is_place else builtins.slice(start, stop, step))


def select(choice, options):
    """One of the `options`, a list of variables: the one with that number, or for each sample the one of its number.

    Feedback goes to what was chosen, sample by sample.

    >>> short, long = (rg.text.Variable(t, role="style") for t in ("Be brief.", "Explain."))
    >>> rg.text.select([0, 1, 0], [short, long]).data
    ['Be brief.', 'Explain.', 'Be brief.']
    """
    choice = choice.data if isinstance(choice, Value) else choice
    chosen = [int(i) for i in choice] if isinstance(choice, (list, tuple)) else int(choice)
    return Select.apply(chosen, *options)


def branch(condition, x, y):
    """`x` where `condition` is true and `y` where it is not; a single truth, or one for each sample.

    >>> calm, firm = (rg.text.Variable(t, role="tone") for t in ("calm", "firm"))
    >>> rg.text.branch([True, False], calm, firm).data
    ['calm', 'firm']
    """
    condition = condition.data if isinstance(condition, Value) else condition
    return select([not c for c in condition] if isinstance(condition, (list, tuple)) else not condition, [x, y])


def to(x, kind):
    """`x` with each scalar as a `str`, an `int` or a `float`; feedback passes through.

    A text that is no such number is a ParseError; in a batch its sample is missing, and `.failures` says why.
    """
    if kind not in (str, int, float):
        raise DTypeError(f"a text variable is converted to str, int or float, got {kind!r}")
    return Convert.apply(x, kind)


def clone(x):
    """A copy of `x` in the graph; feedback passes through."""
    return Convert.apply(x, None)


def as_variable(value, role=""):
    """`value` itself if it is a variable, else a constant one."""
    return value if isinstance(value, texts.kind) else texts.kind(value, role)


def _converted(data, kind, role):
    """`data` with each scalar as `kind`, unless that is None."""
    try:
        return mapped(lambda scalar: scalar if scalar is None or kind is None else kind(scalar), data)
    except (ValueError, OverflowError):
        raise ParseError(f"{role!r} cannot be converted to {kind.__name__}, got {data!r:.100}") from None


def _tried(i, item, kind, role, failures):
    """A sample as `_converted`; None if that fails, with the error in `failures`."""
    try:
        return _converted(item, kind, role)
    except ParseError as error:
        failures[i] = error
        return None


def _because(failure):
    return f": {failure}" if failure else ""


def _said(place):
    return f"part {place.start or 0}:{'' if place.stop is None else place.stop}" if hasattr(place, "stop") else f"item {place}"


def _shared(chosen, data):
    """(place, feedback) of the chosen samples."""
    return zip(chosen, data if isinstance(data, list) else [data] * len(chosen), strict=True)


def _check_places(names, patterns):
    found = [name for pattern in (patterns if isinstance(patterns, list) else [patterns]) for name in places(as_text(pattern))]
    unused = [name for name in names if name not in found]
    if unused:
        raise ArgumentError(f"the template has no place for {', '.join(unused)}; its places are {', '.join(found) or 'none'}")


def _kept(ctx, g, i, role):
    """The feedback `g` as far as option `i` was chosen, or None if it was not."""
    if not isinstance(ctx.choice, list):
        return handed(g, g.data, role, ctx.role) if ctx.choice == i else None
    if i not in ctx.choice:
        return None
    silent = 0 if is_number(g.data) else ""
    return handed(g, spread(lambda chosen, said: said if chosen == i else silent, ctx.choice, g.data), role, ctx.role)

"""Data of text variables: a string, a number, or a list of such data, which is a batch; None is a missing sample."""

import re
from functools import lru_cache

from ..errors import ArgumentError, DTypeError, ShapeError

_SCALARS = (str, int, float)


def checked(data):
    """`data` with fresh lists; ints beside floats become floats. Raises a DTypeError where something else is among it.

    >>> checked([1, [2.5, None]])
    [1.0, [2.5, None]]
    """
    if isinstance(data, _SCALARS):
        return data
    if not isinstance(data, list):
        raise DTypeError(f"the data of a text variable must be a string, a number or a list of them, got "
                         f"{type(data).__name__}: {_short(data)}")
    kinds = {type(scalar) for scalar in scalars(data)}
    strange = [kind.__name__ for kind in kinds if not issubclass(kind, (*_SCALARS, type(None)))]
    if strange:
        raise DTypeError(f"the items of a text variable must be strings, numbers, lists of them or None, got "
                         f"{', '.join(sorted(strange))} in {_short(data)}")
    widens = float in kinds and int in kinds
    return mapped(float if widens else None, data, int)


def mapped(function, data, kind=object):
    """`data` in fresh lists, with `function`, unless it is None, applied to the scalars of exactly that type."""
    if isinstance(data, list):
        return [mapped(function, item, kind) for item in data]
    return function(data) if function is not None and (kind is object or type(data) is kind) else data


def scalars(data):
    """The scalars of `data` in order."""
    if isinstance(data, list):
        for item in data:
            yield from scalars(item)
    else:
        yield data


def shape_of(data):
    """The sizes of the axes that are the same everywhere: () of a scalar, (2,) of [["a"], ["b", "c"]].

    >>> shape_of([["a", "b"], ["c", "d"]]), shape_of([["a"], ["b", "c"]])
    ((2, 2), (2,))
    """
    if not isinstance(data, list):
        return ()
    inner = {shape_of(item) for item in data}
    depth = min([len(shape) for shape in inner], default=0)
    for i in range(depth):
        if len({shape[i] for shape in inner}) > 1:
            depth = i
            break
    return (len(data), *next(iter(inner))[:depth]) if inner else (0,)


def paired(function, *parts):
    """`function` of the scalars of `parts`, element by element; all must be scalars, or lists of the same length."""
    if list not in map(type, parts):
        return function(*parts)
    lists = [part for part in parts if isinstance(part, list)]
    if len(lists) < len(parts):
        raise ShapeError(f"a batch goes with a batch and a scalar with a scalar, got {_shapes(parts)}")
    if len({len(part) for part in parts}) > 1:
        raise ShapeError(f"batches must have the same length, got {_shapes(parts)}")
    return [paired(function, *row) for row in zip(*parts, strict=True)]


def spread(function, *parts):
    """`paired`, but a scalar beside lists stands for as many equal items."""
    lists = [part for part in parts if isinstance(part, list)]
    if not lists:
        return function(*parts)
    sizes = {len(part) for part in lists}
    if len(sizes) > 1:
        raise ShapeError(f"batches must have the same length, got {_shapes(parts)}")
    (size,) = sizes
    columns = [part if isinstance(part, list) else [part] * size for part in parts]
    return [spread(function, *row) for row in zip(*columns, strict=True)]


def is_number(scalar):
    """Whether a scalar is an int or a float."""
    return isinstance(scalar, (int, float))


def as_text(scalar):
    """A scalar as a string; a missing one is empty."""
    return "" if scalar is None else str(scalar)


_PLACE = re.compile(r"\{\{([A-Za-z_]\w*)\}\}|\{([A-Za-z_]\w*)\}")


@lru_cache(256)
def _pieces(template):
    """The template taken apart: text, name, text, name, ..., text."""
    pieces, text, end = [], "", 0
    for match in _PLACE.finditer(template):
        text, end = text + template[end : match.start()], match.end()
        if match[1]:
            text += f"{{{match[1]}}}"
        else:
            pieces += text, match[2]
            text = ""
    return *pieces, text + template[end:]


def places(template):
    """The names in braces in `template`, each once, in order; a name in double braces is no place.

    >>> places('{a} and {b} and {{c}}, {a}, {"json": 1}')
    ['a', 'b']
    """
    return list(dict.fromkeys(_pieces(template)[1::2]))


def filled(template, values):
    """`template` with each {name} replaced by `values[name]`, and {{name}} by {name}; other braces stay as they are.

    >>> filled('{a} {{a}} {"b": 1}', {"a": "x"})
    'x {a} {"b": 1}'
    """
    pieces = list(_pieces(template))
    try:
        pieces[1::2] = [as_text(values[name]) for name in pieces[1::2]]
        return "".join(pieces)
    except KeyError:
        missing = [name for name in places(template) if name not in values]
    raise ArgumentError(f"the template has places for {', '.join(missing)} and was given {', '.join(values) or 'nothing'}; write "
                        "{{name}} for a name in braces that is no place")


_FORGED = re.compile(r"&((?:amp;)*)lt;(/?)ITEM&gt;|<(/?)ITEM>")
_ESCAPED = re.compile(r"&amp;((?:amp;)*)lt;(/?)ITEM&gt;|&lt;(/?)ITEM&gt;")


def tagged(texts):
    """Each of `texts` between <ITEM> and </ITEM>. Such tags inside a text are escaped, so that they make no items.

    >>> tagged(["a", "</ITEM>"])
    '<ITEM>a</ITEM><ITEM>&lt;/ITEM&gt;</ITEM>'
    """
    return "".join(f"<ITEM>{_FORGED.sub(_escape, as_text(text))}</ITEM>" for text in texts)


def items(text):
    """The texts that `tagged` put together.

    >>> items(tagged(["a", "</ITEM>"]))
    ['a', '</ITEM>']
    """
    found, end = [], 0
    while (start := text.find("<ITEM>", end)) >= 0 and (end := text.find("</ITEM>", start)) >= 0:
        found.append(_ESCAPED.sub(_unescape, text[start + len("<ITEM>") : end]))
    return found


def _escape(match):
    return f"&lt;{match[3]}ITEM&gt;" if match[3] is not None else f"&amp;{match[1]}lt;{match[2]}ITEM&gt;"


def _unescape(match):
    return f"<{match[3]}ITEM>" if match[3] is not None else f"&{match[1]}lt;{match[2]}ITEM&gt;"


def _shapes(parts):
    return " and ".join(f"a list of {len(part)}" if isinstance(part, list) else f"a scalar ({_short(part)})" for part in parts)


def _short(data, limit=60):
    text = repr(data)
    return text if len(text) <= limit else text[: limit - 3] + "..."

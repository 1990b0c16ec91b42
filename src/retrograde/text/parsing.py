"""Structured answers: JSON in a text, taken apart into one variable for each field."""

import json
import re
from math import isfinite

from ..errors import ParseError
from .algebra import TextFunction, texts
from .basics import check_variables
from .data import as_text, checked, spread, tagged
from .wording import combined, handed

#: How many braces of a text are tried as the beginning of an object, so that a hostile text costs little.
_MOST = 1000
#: How many digits of an integer are read; Python's own limit is lower than that only where it was set so.
_DIGITS = 4000
#: What begins as an object does: a name follows, with quotes or with a colon.
_BEGINNING = re.compile(r"\{\s*(?:[\"'\u201c\u201d\u2018\u2019]|[\w-]+\s*:)")


class Parse(TextFunction):
    """The fields of a JSON object: see `parse`."""

    @staticmethod
    def forward(ctx, x, model, names):
        check_variables("parse", (x,))
        ctx.role, ctx.names = x.role, names
        failures, records = dict(x.failures), []
        for i, text in enumerate(x.data if x.is_batch else [x.data]):
            try:
                records.append({} if text is None else loaded(as_text(text), model))
            except ParseError as error:
                if not x.is_batch:
                    raise
                failures[i] = error
                records.append({})
        ctx.names = names or list(dict.fromkeys(name for record in records for name in record))
        return tuple([_field(name, x, records, failures) for name in ctx.names])

    @staticmethod
    def backward(ctx, *given):
        said = [spread(lambda text, name=name: f"{name}: {as_text(text)}" if as_text(text) else "", g.data)
                for name, g in zip(ctx.names, given, strict=True)]
        first = next((g for g in given if g.data not in ("", None)), given[0])
        data = combined(spread(lambda *parts: tagged(part for part in parts if part), *said), ctx.role)
        return handed(first, data, ctx.role, f"fields of {ctx.role}"), None, None


def parse(x, model=None):
    """The fields of the JSON object in a text: a dictionary of variables by name.

    The object may stand in a fenced block, or among other words; where there are several that differ, one that is not well formed,
    a key that stands there twice, or a number that is not finite, it is a ParseError. `model` is a pydantic model (or
    any class with `model_validate`), which checks and converts it; its fields are the names. Fields that are no text or number, or
    lists of them, come as JSON text. A text that does not parse is a ParseError; in a batch its samples are missing, and the
    `.failures` of each field say why.

    >>> answer = rg.text.Variable('Sure: {"label": "good", "score": 0.9}', role="answer")
    >>> {name: field.data for name, field in rg.text.parse(answer).items()}
    {'label': 'good', 'score': 0.9}
    """
    names = list(getattr(model, "model_fields", None) or ())
    fields = Parse.apply(x, model, names)
    if names:
        return dict(zip(names, fields, strict=True))
    return {field.role.removesuffix(f" of {x.role}"): field for field in fields}


def loaded(text, model=None):
    """The JSON object in `text`, checked by `model`; a ParseError says where it ends to be one."""
    found = _object(text)
    if model is None:
        return found
    try:
        made = model.model_validate(found)
    except ValueError as error:
        raise ParseError(f"the answer does not fit {model.__name__}: {_complaint(error)}; it was {_shown(text)}") from None
    fields = made.model_dump(mode="json")
    try:
        # A model may take a number that is not finite from a string.
        json.dumps(fields, allow_nan=False)
    except ValueError:
        raise ParseError(f"{model.__name__} lets a number pass that is not finite, in {_shown(text)}") from None
    return fields


def _object(text):
    """The one object in `text`; equal ones count once."""
    found = objects(text)
    found = [value for i, value in enumerate(found) if value not in found[:i]]
    if len(found) == 1:
        return found[0]
    if found:
        raise ParseError(f"the answer must hold one JSON object, and holds {len(found)}, which differ: {_shown(text)}")
    raise ParseError(f"the answer must hold a JSON object in braces, got {_shown(text)}")


def objects(text):
    """The JSON objects in `text`, from left to right, those within others left out; braces of other kinds are passed over.

    What begins as an object does and is none is a ParseError: an object that is quoted in it would be taken for the whole.

    >>> objects('{so} to say: {"a": {"b": 1}} or {"c": 2}')
    [{'a': {'b': 1}}, {'c': 2}]
    """
    found, start, tried = [], text.find("{"), 0
    while start >= 0:
        tried += 1
        if tried > _MOST:
            raise ParseError(f"the answer must hold one JSON object, and has more than {_MOST} opening braces: {_shown(text)}")
        try:
            value, end = _DECODER.raw_decode(text, start)
            found.append(value)
        except ParseError as error:
            raise _malformed(str(error), text, start) from None
        except RecursionError:
            raise _malformed("it is nested too deep", text, start) from None
        except ValueError as error:
            if _BEGINNING.match(text, start):
                raise _malformed(getattr(error, "msg", str(error)), text, getattr(error, "pos", start)) from None
            end = start + 1
        start = text.find("{", end)
    return found


def _malformed(what, text, where):
    return ParseError(f"the JSON in the answer is not well formed: {what} at character {where}, near "
                      f"{text[max(where - 20, 0) : where + 20]!r}")


def _unique(pairs):
    """The members of an object, none of which stands there twice: readers differ in which of the two they believe."""
    members = dict(pairs)
    if len(members) < len(pairs):
        twice = next(name for i, (name, _) in enumerate(pairs) if name in dict(pairs[:i]))
        raise ParseError(f"the key {twice!r:.60} stands there twice")
    return members


def _integer(digits):
    if len(digits) > _DIGITS:
        raise ParseError(f"a number has {len(digits)} digits")
    return int(digits)


def _finite(digits):
    number = float(digits)
    if not isfinite(number):
        raise ParseError(f"the number {digits:.40} is too large")
    return number


def _constant(name):
    raise ParseError(f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_int=_integer, parse_float=_finite, parse_constant=_constant)


def _complaint(error):
    """What a model found wrong, without what pydantic adds for people who read its manual."""
    found = error.errors() if hasattr(error, "errors") else ()
    return "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}" for fault in found) or str(error)


def _field(name, x, records, failures):
    data = checked([_plain(record.get(name)) for record in records])
    if not x.is_batch:
        data = "" if data[0] is None else data[0]
    return texts.kind.remade(f"{name} of {x.role}", data, failures=failures)


def _plain(value):
    if value is None or isinstance(value, (str, int, float)):
        return value
    is_flat = isinstance(value, list) and all(item is None or isinstance(item, (str, int, float)) for item in value)
    return value if is_flat else json.dumps(value, ensure_ascii=False)


def _shown(text, limit=120):
    return repr(text if len(text) <= limit else text[:limit] + "...")

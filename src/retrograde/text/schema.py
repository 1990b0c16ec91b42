"""JSON schemas: what in a value does not keep to one. The keywords that say what an answer must look like."""

import json
import re
from typing import NamedTuple

from ..errors import ArgumentError

_TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int, "null": type(None),
}


def faults(value, schema, path=""):
    """What is wrong with a JSON `value` by `schema`, in words that name the place; [] if nothing is.

    Knows type, enum, const, anyOf, properties, required, additionalProperties, items, minItems, maxItems, minLength,
    maxLength, pattern, minimum and maximum. Raises an ArgumentError for another keyword that restricts.

    >>> faults({"a": 1}, {"required": ["b"], "properties": {"a": {"type": "string"}}})
    ['a must be of type string, got 1', 'b is missing']
    """
    unknown = schema.keys() - _CHECKS.keys() - _SILENT
    if unknown:
        raise ArgumentError(f"this schema uses {', '.join(sorted(unknown))}, which is not checked; known are {', '.join(_CHECKS)}")
    at = _Place(path, schema)
    return [fault for word, rule in sorted(schema.items()) if word in _CHECKS for fault in _CHECKS[word](value, rule, at)]


class _Place(NamedTuple):
    """Where in the whole a value stands, and the schema that holds there."""

    path: str
    schema: dict

    def __str__(self):
        return self.path or "it"

    def inside(self, name):
        """The path of a member."""
        return f"{self.path}.{name}" if self.path else name


def _type(value, rule, at):
    kinds = rule if isinstance(rule, list) else [rule]
    if not any(_is(value, kind) for kind in kinds):
        yield f"{at} must be of type {' or '.join(kinds)}, got {_json(value)}"


def _is(value, kind):
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind]) or (kind == "integer" and isinstance(value, float) and value.is_integer())


def _enum(value, rule, at):
    if value not in rule:
        yield f"{at} must be one of {', '.join(map(_json, rule))}, got {_json(value)}"


def _any_of(value, rule, at):
    if all(faults(value, option, at.path) for option in rule):
        yield f"{at} fits none of the {len(rule)} forms that are allowed"


def _properties(value, rule, at):
    for name, inner in rule.items() if isinstance(value, dict) else ():
        if name in value:
            yield from faults(value[name], inner, at.inside(name))


def _required(value, rule, at):
    for name in rule if isinstance(value, dict) else ():
        if name not in value:
            yield f"{at.inside(name)} is missing"


def _additional(value, rule, at):
    extra = [name for name in value if name not in at.schema.get("properties", {})] if isinstance(value, dict) else []
    for name in extra:
        if rule is False:
            yield f"{at.inside(name)} is not allowed"
        elif rule is not True:
            yield from faults(value[name], rule, at.inside(name))


def _items(value, rule, at):
    for i, item in enumerate(value if isinstance(value, list) else ()):
        yield from faults(item, rule, f"{at.path}[{i}]")


def _bound(kind, measure, holds, words):
    def check(value, rule, at):
        if isinstance(value, kind) and not isinstance(value, bool) and not holds(measure(value), rule):
            yield f"{at} must {words.format(rule)}, got {_json(value)}"

    return check


def _json(value):
    return json.dumps(value, ensure_ascii=False)


_CHECKS = {
    "type": _type, "enum": _enum, "const": lambda value, rule, at: _enum(value, [rule], at), "anyOf": _any_of,
    "properties": _properties, "required": _required, "additionalProperties": _additional, "items": _items,
    "minItems": _bound(list, len, lambda n, bound: n >= bound, "have at least {} items"),
    "maxItems": _bound(list, len, lambda n, bound: n <= bound, "have at most {} items"),
    "minLength": _bound(str, len, lambda n, bound: n >= bound, "have at least {} characters"),
    "maxLength": _bound(str, len, lambda n, bound: n <= bound, "have at most {} characters"),
    "pattern": _bound(str, str, lambda text, rule: re.search(rule, text) is not None, "match {}"),
    "minimum": _bound((int, float), float, lambda x, bound: x >= bound, "be at least {}"),
    "maximum": _bound((int, float), float, lambda x, bound: x <= bound, "be at most {}"),
}
_SILENT = {"$schema", "title", "description", "default", "examples", "$id"}

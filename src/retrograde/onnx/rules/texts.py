"""Operators on texts, which arrays of objects hold."""

from typing import Any

import numpy as np

from ..rule import rule


@rule("StringConcat", since=20, numbers=None)
def _joined(x, y, /):
    return np.asarray(x + y, object)


@rule("StringSplit", since=20, numbers=None)
def _split(x, /, *, delimiter=None, maxsplit=None):
    parts = [text.split(delimiter or None, -1 if maxsplit is None else maxsplit) for text in x.reshape(-1)]
    longest = max([len(words) for words in parts], default=0)
    found = np.full((len(parts), longest), "", object)
    for row, words in enumerate(parts):
        found[row, :len(words)] = words
    return found.reshape((*x.shape, longest)), np.array([len(words) for words in parts], np.int64).reshape(x.shape)


@rule("LabelEncoder", since=4, domain="ai.onnx.ml", numbers=None)
def _encoded(x, /, *, keys_floats=None, keys_int64s=None, keys_strings=None, keys_tensor=None, values_floats=None,
             values_int64s=None,
             values_strings=None, values_tensor=None, default_float=-0.0, default_int64=-1, default_string="_Unused",
             default_tensor=None):
    keys = next(list(k) for k in (keys_floats, keys_int64s, keys_strings, keys_tensor) if k is not None)
    kinds = ((values_floats, default_float, np.float32), (values_int64s, default_int64, np.int64),
             (values_strings, default_string, object))
    given: Any = next((each for each in kinds if each[0] is not None), (values_tensor, default_tensor, None))
    values, default, dtype = given
    if dtype is None:
        defaults = {"i": default_int64, "f": default_float, "O": default_string}
        dtype, default = values.dtype, defaults[values.dtype.kind] if default is None else default.reshape(-1)[0]
    known = dict(zip([_key(k) for k in keys], list(values), strict=True))
    return np.array([known.get(_key(each), default) for each in x.reshape(-1)], dtype).reshape(x.shape)


def _key(value):
    """A key that is found also if it is not a number."""
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return "NaN"
    return value.item() if isinstance(value, np.generic) else value

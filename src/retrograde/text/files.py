"""Files of text and state: JSON that people can read and that differs by lines where the text differs."""

import json
import re
from pathlib import Path

import numpy as np

from ..atomic import writing
from ..core.value import Value
from ..dtypes import is_float
from ..errors import CheckpointError
from ..tensor.creation import asarray
from ..tensor.tensor import Tensor
from .algebra import texts

FORMAT = "retrograde text 1"
_SURROGATE = re.compile("[\ud800-\udfff]")


def save(state, path):
    """Write variables, tensors, and dictionaries and lists of them and of plain data as JSON; there is always a whole file.

    A text of several lines is written as a list of lines, so that two versions can be compared.

    >>> save({"prompt": "Be brief.", "step": 3}, "state.json")
    >>> load("state.json")
    {'prompt': 'Be brief.', 'step': 3}
    """
    try:
        content = json.dumps({"format": FORMAT, "state": _encoded(state)}, indent=1, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"JSON cannot hold what was to be saved: {error}; numbers must be finite, except in tensors, and "
                              "lists not nested thousands deep") from None
    # A surrogate by itself is no character of UTF-8; JSON has a way to write it.
    content = _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", content)
    with writing(Path(path)) as part:
        part.write_text(content + "\n", encoding="utf-8")


def load(path):
    """What `save` wrote. Raises a CheckpointError if the file holds something else."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{Path(path).name} is no JSON: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT or "state" not in found:
        raise CheckpointError(f"{Path(path).name} was not written by text.save: it must have \"format\": \"{FORMAT}\" and a state")
    try:
        return _decoded(found["state"])
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{Path(path).name} is damaged: {type(error).__name__}: {error}") from None


def _encoded(value):
    if isinstance(value, texts.kind):
        return {"$variable": _encoded(value.data), "role": value.role, "requires_grad": value.requires_grad}
    if isinstance(value, (Value, np.ndarray)):
        array = np.asarray(value.data if isinstance(value, Value) else value)
        numbers = array.astype(np.float64) if is_float(array.dtype) else array
        return {"$tensor": json.dumps(numbers.tolist()), "dtype": str(array.dtype)}
    if isinstance(value, str) and "\n" in value:
        return {"$lines": value.split("\n")}
    if isinstance(value, dict):
        if not all(isinstance(key, str) and not key.startswith("$") for key in value):
            raise CheckpointError(f"keys must be strings that do not begin with $, got {list(value)!r:.100}")
        return {key: _encoded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encoded(item) for item in value]
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise CheckpointError(f"only text, numbers, variables, tensors, and lists and dictionaries of them can be saved, got "
                          f"{type(value).__name__}")


def _decoded(value):
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$lines" in value:
        return "\n".join(value["$lines"])
    if "$variable" in value:
        return texts.kind(_decoded(value["$variable"]), value["role"], value["requires_grad"])
    if "$tensor" in value:
        return Tensor(asarray(json.loads(value["$tensor"]), dtype=value["dtype"]).data)
    return {key: _decoded(item) for key, item in value.items()}

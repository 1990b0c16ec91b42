"""How a tensor is shown."""

from html import escape

import numpy as np

from ..core.symbol import Symbol
from ..dtypes import bool_, float32, int64


def as_text(tensor):
    """NumPy's text of the elements, and what differs from the ordinary: dtype, device, gradient; of a traced tensor its spec."""
    if isinstance(tensor.raw, Symbol):
        return f"tensor({tensor.dtype}{list(tensor.shape)}, traced by jit)"
    body = np.array2string(np.asarray(tensor.raw), separator=", ", prefix="tensor(")
    facts = [body]
    if tensor.dtype not in (float32, int64, bool_):
        facts.append(f"dtype={tensor.dtype}")
    if tensor.device != "cpu":
        facts.append(f"device={tensor.device!r}")
    if not tensor.is_leaf:
        facts.append(f"made by {tensor.record.name}")
    elif tensor.requires_grad:
        facts.append("requires_grad=True")
    return f"tensor({', '.join(facts)})"


#: Rows and columns of a table that are shown whole, and how many of longer ones from either end.
_MOST, _ENDS = 12, 5


def as_html(tensor):
    """A table of the elements for notebooks, long axes in part; the text of `as_text` where a tensor has not one or two axes."""
    facts = f"tensor of shape {tuple(tensor.shape)}, {tensor.dtype}"
    if isinstance(tensor.raw, Symbol) or tensor.ndim not in (1, 2) or not tensor.size:
        return f"<pre>{escape(as_text(tensor))}</pre>"
    if tensor.requires_grad:
        facts += ", requires_grad=True" if tensor.is_leaf else f", made by {tensor.record.name}"
    array = np.atleast_2d(np.asarray(tensor.raw))
    rows, columns = (_shown(n) for n in array.shape)
    body = "".join(f"<tr>{''.join(_cell(array, i, j) for j in columns)}</tr>" for i in rows)
    return f'<table><caption style="text-align: left">{escape(facts)}</caption><tbody>{body}</tbody></table>'


def _shown(length):
    """The positions on an axis that are shown; None stands for those that are not."""
    return range(length) if length <= _MOST else [*range(_ENDS), None, *range(length - _ENDS, length)]


def _cell(array, i, j):
    if i is None or j is None:
        return "<td>⋯</td>"
    element = array[i, j]
    return f"<td>{escape(f'{element:.5g}' if array.dtype.kind in 'fcV' else str(element))}</td>"

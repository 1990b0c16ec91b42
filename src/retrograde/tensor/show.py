"""How a tensor is shown."""

import numpy as np

from ..dtypes import bool_, float32, int64


def as_text(tensor):
    """NumPy's text of the elements, and what differs from the ordinary: dtype, device, gradient."""
    body = np.array2string(np.asarray(tensor.data), separator=", ", prefix="tensor(")
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

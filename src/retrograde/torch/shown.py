"""How a tensor is printed: as PyTorch prints it, with four digits."""

import numpy as np

from ..core.symbol import Symbol
from ..dtypes import bool_, complex64, float32, int64, name_of
from .kinds import DEFAULT

#: How numbers are printed; `set_printoptions` sets it.
OPTIONS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How tensors are printed: digits, elements until parts are left out, and so on."""
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth, "sci_mode": sci_mode}
    profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, np.inf, 3, 80)}
    if profile is not None:
        OPTIONS.update(zip(("precision", "threshold", "edgeitems", "linewidth"), profiles[profile], strict=True))
    OPTIONS.update({name: value for name, value in given.items() if value is not None})


def as_text(x):
    """The text of a tensor."""
    prefix = "tensor("
    if isinstance(x.raw, Symbol):
        return f"tensor(..., size={tuple(x.shape)}, dtype=torch.{name_of(x.dtype)}, traced by torch.compile)"
    array = np.asarray(x.raw)
    facts = ["[]" if not array.size else _body(array, len(prefix))]
    if not array.size and array.shape != (0,):
        facts.append(f"size={tuple(array.shape)}")
    if x.dtype not in (DEFAULT[0], int64, bool_, complex64) or not array.size and x.dtype != float32:
        facts.append(f"dtype=torch.{name_of(x.dtype)}")
    if x.record is not None and not x.is_leaf:
        facts.append(f"grad_fn=<{''.join([part.capitalize() for part in x.record.name.split('_')])}Backward0>")
    elif x.record is not None:
        facts.append("requires_grad=True")
    return f"{prefix}{', '.join(facts)})"


def _body(array, indent):
    known = array.astype(np.float32) if array.dtype.kind == "V" else array
    edge = OPTIONS["edgeitems"]
    is_part = array.size > OPTIONS["threshold"]
    written = _written(_ends(known, edge) if is_part else known)
    return _rows(known, written, indent, edge if is_part else None)


def _ends(array, edge):
    """The elements that are printed of a large array."""
    for axis, n in enumerate(array.shape):
        if n > 2 * edge:
            array = np.take(array, [*range(edge), *range(n - edge, n)], axis)
    return array


def _written(shown):
    """A function from an element to its text, all of one width."""
    if shown.dtype.kind == "b":
        texts = {str(bool(v)) for v in shown.reshape(-1)}
        width = max(map(len, texts))
        return lambda v: str(bool(v)).rjust(width if shown.ndim else 0)
    if shown.dtype.kind in "iu":
        width = max([len(str(v)) for v in shown.reshape(-1)])
        return lambda v: str(v).rjust(width)
    if shown.dtype.kind == "c":
        real, imag = _written(np.ascontiguousarray(shown.real)), _written(np.ascontiguousarray(shown.imag))
        return lambda v: real(v.real) + ("" if imag(v.imag).strip().startswith("-") else "+") + imag(v.imag).strip() + "j"
    write = _float_writer(shown)
    flat = shown.reshape(-1)
    width = max([len(write(v)) for v in flat[np.isfinite(flat) & (flat != 0)]], default=1)
    return lambda v: write(v).rjust(width)


def _float_writer(shown):
    """How floats are written: whole ones with a point, wide ranges in powers of ten, the others with the digits asked for."""
    digits, wanted = OPTIONS["precision"], OPTIONS["sci_mode"]
    finite = np.abs(shown[np.isfinite(shown) & (shown != 0)].astype(np.float64))
    if not finite.size:
        return _named(lambda v: f"{v:.0f}.")
    most, least = finite.max(), finite.min()
    if np.all(np.trunc(finite) == finite):
        is_wide = most / least > 1000.0 or most > 1e8 if wanted is None else wanted
        return _named(lambda v: f"{v:.{digits}e}") if is_wide else _named(lambda v: f"{v:.0f}.")
    is_wide = most / least > 1000.0 or most > 1e8 or least < 1e-4 if wanted is None else wanted
    return _named(lambda v: f"{v:.{digits}e}") if is_wide else _named(lambda v: f"{v:.{digits}f}")


def _named(write):
    return lambda v: ("nan" if v != v else "inf" if v > 0 else "-inf") if not np.isfinite(v) else write(float(v))


def _rows(array, written, indent, edge):
    if array.ndim == 0:
        return written(array[()]).strip()
    n = array.shape[0]
    chosen = range(n) if edge is None or n <= 2 * edge else [*range(edge), None, *range(n - edge, n)]
    if array.ndim == 1:
        texts = [" ..." if i is None else written(array[i]) for i in chosen]
        per_line = max(int((OPTIONS["linewidth"] - indent) // (max(map(len, texts)) + 2)), 1)
        lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = ["..." if i is None else _rows(array[i], written, indent + 1, edge) for i in chosen]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"

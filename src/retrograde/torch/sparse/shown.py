"""How a sparse tensor is printed: as PyTorch prints it."""

from ...core.symbol import Symbol
from ...dtypes import bool_, complex64, int64, name_of
from ..kinds import DEFAULT
from ..shown import OPTIONS


def as_text(x):
    """The text of a sparse tensor."""
    if isinstance(x.numbers.raw, Symbol):
        return f"tensor(..., size={tuple(x.sizes)}, layout={x.layout}, traced by torch.compile)"
    named = ({"indices": x.places} if x.is_sparse else {"crow_indices": x.crow_indices(), "col_indices": x.col_indices()})
    parts = [_part(name, value) for name, value in {**named, "values": x.numbers.detach()}.items()]
    facts = [f"size={tuple(x.sizes)}", f"nnz={x.places.shape[1]}"]
    if x.dtype not in (DEFAULT[0], int64, bool_, complex64):
        facts.append(f"dtype=torch.{name_of(x.dtype)}")
    facts.append(f"layout={x.layout}")
    if x.requires_grad:
        facts.append("requires_grad=True" if x.is_leaf else f"grad_fn=<{type(x.grad_fn).__name__}>")
    return _wrapped("tensor(" + ",\n       ".join(parts), facts, x.is_sparse) + ")"


def _wrapped(text, facts, is_on_new_line):
    """A text with facts after it, on a new line where one is full."""
    length = len(text) - text.rfind("\n") + 1
    for fact in facts:
        if is_on_new_line or length + len(fact) + 2 > OPTIONS["linewidth"]:
            text, length, is_on_new_line = f"{text},\n       {fact}", len(fact) + 7, False
        else:
            text, length = f"{text}, {fact}", length + len(fact) + 2
    return text


def _part(name, value):
    if not value.numel():
        return f"{name}=tensor([], size={tuple(value.shape)})"
    text = repr(value).partition(", dtype=torch.")[0].removesuffix(")") + ")"
    return f"{name}=" + text.replace("\n", "\n" + " " * (len(name) + 8))

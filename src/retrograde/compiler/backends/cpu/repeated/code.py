"""The code of a program whose layers repeat, from the plan of a graph without most of them."""

from .....errors import VerifierError
from ....pipeline import planned
from ....verify_setting import is_on
from ..build import code_with, loaded
from .expanded import expanded, has_too_few
from .same import difference


def code_of(short, backend):
    """The `Code` of the full graph of a `Short`, loaded; None if it has to be planned whole."""
    draft = planned(short.graph, is_short=True)
    parts = backend.written(draft, backend.target())
    found = expanded(short, draft, parts)
    if found is None:
        longer = short.longer() if has_too_few(short, draft, parts) else None
        return None if longer is None else code_of(longer, backend)
    if is_on():
        _verify(short.full, found, backend)
    return code_with(short.full, found.layout, found.launches, loaded(parts), lambda buffer: buffer)


def _verify(graph, found, backend):
    """Raise a VerifierError unless a program is what its graph becomes when it is planned whole."""
    draft = planned(graph, is_short=True)
    told = difference(graph, found, draft, backend.written(draft, backend.target()))
    if told is not None:
        raise VerifierError(f"a program whose layers repeat is not what it would be if it were planned whole: {told}; this is a "
                            "fault of ours, worth a report with the function that was compiled")

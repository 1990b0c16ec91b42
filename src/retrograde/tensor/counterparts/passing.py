"""Passing: functions of NumPy that have no derivative to lose: they are called on the data of the tensors."""

from functools import wraps

from ...core.value import Value
from ..leaving import check_left
from .operands import data_of

NAMES = frozenset("""
allclose argpartition argwhere array2string array_equal array_equiv array_repr array_str bincount can_cast common_type
diag_indices_from digitize flatnonzero histogram histogram2d histogram_bin_edges histogramdd intersect1d isclose iscomplex
iscomplexobj isfortran isneginf isposinf isreal isrealobj isscalar iterable ix_ lexsort mask_indices may_share_memory
min_scalar_type nanargmax nanargmin packbits ravel_multi_index result_type save savetxt savez savez_compressed setdiff1d setxor1d
shares_memory tril_indices_from triu_indices_from union1d unique unpackbits unravel_index
""".split())  # noqa: SIM905 - a list of names is read more easily


def on_data(function):
    """`function`, called with arrays in place of tensors; its results are plain. Floats among them have lost a gradient."""

    @wraps(function)
    def passed(*args, **kwargs):
        found = function(*data_of(args), **data_of(kwargs))
        if any(map(_is_float, found if isinstance(found, tuple) else (found,))):
            for x in (*args, *kwargs.values()):
                if isinstance(x, Value):
                    check_left(x)
        return found

    return passed


def _is_float(found):
    """Whether `found` are numbers with a derivative, or a list of such."""
    if isinstance(found, list):
        return any(map(_is_float, found))
    return getattr(getattr(found, "dtype", None), "kind", "") in "fc" and hasattr(found, "dtype")

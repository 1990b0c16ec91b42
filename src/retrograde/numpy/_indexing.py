"""`np.r_` and `np.c_`, which join what stands between brackets, with tensors among it."""

import numpy as np

from ..ops.manipulation.joins import concatenate
from ..tensor.counterparts.operands import holds_value, stacked


class _Rows:
    """`r_[a, b, 1.0]`: the parts one after another; slices are ranges, as in NumPy."""

    def __init__(self, plain, is_column):
        self._plain, self._is_column = plain, is_column

    def __getitem__(self, parts):
        parts = parts if isinstance(parts, tuple) else (parts,)
        if not holds_value(parts):
            return self._plain[parts]
        arrays = [np.r_[part] if isinstance(part, slice) else stacked(part) for part in parts]
        if not self._is_column:
            return concatenate([x.reshape(1) if x.ndim == 0 else x for x in arrays])
        return concatenate([x.reshape(-1, 1) if x.ndim < 2 else x for x in arrays], -1)


r_, c_ = _Rows(np.r_, is_column=False), _Rows(np.c_, is_column=True)

"""Orders: in which order in memory eager ops make their results, where a trace must know it."""

import numpy as np
import pytest

import retrograde as rg
import sweeping
from retrograde.compiler.orders import ANY_ORDER
from retrograde.compiler.views import MOVEMENTS
from retrograde.errors import InplaceError, RetrogradeError

NAMES = [name for name in rg.ops.names() if not rg.ops.get(name).broadcasts and name not in {*MOVEMENTS, *ANY_ORDER, "contract"}]


@pytest.mark.parametrize("name", NAMES)
def test_what_an_op_makes_of_rows_lies_in_rows(name):
    op = rg.ops.get(name)
    for case in sweeping.cases(op):
        args, kwargs = case.drawn(np.float64)
        try:
            with np.errstate(all="ignore"):
                found = sweeping.plain(sweeping.results(op.call(*args, **kwargs)))
        except RetrogradeError:
            continue
        assert all(x.flags.c_contiguous for x in found if x.size), case


def test_a_write_through_a_reshape_of_what_lies_in_an_unknown_order_is_refused_or_right():
    def written(x):
        y = rg.sort(x, axis=0)
        y = y + y
        y.reshape(-1)[::2] = 0.5
        return y

    x = np.array([[0.4, -0.6], [-0.6, 1.5]])
    wanted = written(rg.tensor(x)).numpy()
    try:
        found = rg.jit(written)(x)
    except InplaceError:
        return
    np.testing.assert_array_equal(found, wanted)

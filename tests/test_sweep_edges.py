"""The sweep over arrays of nothing and single numbers: every op gives a result or an error of ours, eager and compiled alike."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.value import Value
from retrograde.dtypes import is_float
from retrograde.errors import MissingRuleError, RetrogradeError
from sweeping import cases, plain, results

FORMS = {
    "first axis of length 0": lambda x: x[:0] if x.ndim else x,
    "last axis of length 0": lambda x: x[..., :0] if x.ndim else x,
    "numbers": lambda x: x.reshape(-1)[0] if x.size else x.reshape(-1).sum(),
}
#: The insides of other ops, which hand them operands that fit.
INSIDE = {"add_along_axis", "avg_pool2d_input", "drop", "max_pool2d_input"}
NAMES = [name for name in rg.ops.names() if rg.ops.get(name).family != "creation" and name not in INSIDE]


def outcome(function, operands, needs_gradients=True):
    """The results and the gradients as arrays, or the error; of an op without a derivative the results alone."""
    tensors = [rg.tensor(x, requires_grad=needs_gradients and is_float(x.dtype)) for x in operands]
    try:
        found = results(function(*tensors))
    except MissingRuleError:
        return outcome(function, operands, needs_gradients=False)
    except RetrogradeError as error:
        return error
    live = [z for z in found if isinstance(z, Value) and z.requires_grad]
    if live:
        try:
            rg.core.gradient.backward(live, [np.ones(z.shape, z.dtype) for z in live])
        except RetrogradeError as error:
            return error
    for t in tensors:
        assert t.grad is None or (t.grad.shape, t.grad.dtype) == (t.shape, t.dtype)
    return plain(found), [None if t.grad is None else t.grad.data for t in tensors]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("form", list(FORMS))
@pytest.mark.parametrize("name", NAMES)
def test_nothing_and_numbers_give_a_result_or_an_error_of_ours_eager_and_compiled(name, form):
    case = cases(rg.ops.get(name))[0]
    args, kwargs = case.drawn(np.float64)
    operands = [np.asarray(FORMS[form](np.asarray(x))) for x in case.operands(args)]
    if not operands:
        pytest.skip("no float operand")

    def function(*operands):
        return case.op.call(*case.rebuilt(args, operands), **kwargs)

    eager = outcome(function, operands)
    if isinstance(eager, RetrogradeError):
        assert len(str(eager)) > 20
        with pytest.raises(RetrogradeError):
            rg.tree.leaves(rg.jit(function)(*operands))
        return
    compiled = [np.asarray(z) for z in rg.tree.leaves(rg.jit(function)(*operands))]
    for z, reference in zip(compiled, eager[0], strict=True):
        assert (z.shape, z.dtype) == (reference.shape, reference.dtype)
        np.testing.assert_allclose(z, reference, rtol=1e-9, atol=1e-12)

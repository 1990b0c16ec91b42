"""Every op given complex numbers: it uses both parts, in eager and in compiled code and in its gradient, or refuses them.

NumPy warns where a complex number becomes a real one, and warnings are errors here: no op may drop an imaginary part.
"""

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.value import Value
from retrograde.dtypes import is_float
from retrograde.errors import DTypeError, RetrogradeError
from sweeping import cases, results

#: What makes a real number of a complex one, or of which the sweep would make what cannot be, each with the reason.
REAL_BY_MEANING = {"real": "the real part", "astype": "asked for: NumPy warns", "bitcast": "asked for", "lu_solve": "pivots are real"}
#: Derivatives that differences cannot see.
NO_DIFFERENCES = {"eigvals": "in no order"}
NAMES = [name for name in rg.ops.names() if rg.ops.get(name).kernel.__module__.startswith("retrograde.ops") and name not in REAL_BY_MEANING]


def _complex_case(op):
    """(args, operands, kwargs) of the first case with operands that are not empty, the operands made complex; None without one."""
    for case in cases(op):
        args, kwargs = case.drawn(np.float64)
        operands = case.operands(args)
        if operands and all(np.size(x) for x in operands) and not case.fixes_dtype:
            rng = np.random.default_rng(case.seed)
            made = [np.asarray(x + 1j * rng.uniform(0.3, 1.0, np.shape(x)) if x.dtype.kind == "f" else x) for x in operands]
            return lambda *new: results(op.call(*case.rebuilt(args, new), **kwargs)), made
    return None


def _arrays(found):
    return [np.asarray(x.numpy() if isinstance(x, Value) else x) for x in found]


@pytest.mark.parametrize("name", NAMES)
def test_no_op_drops_an_imaginary_part(name):
    op = rg.ops.get(name)
    case = _complex_case(op)
    if case is None:
        return
    run, operands = case
    try:
        found = _arrays(run(*map(rg.asarray, operands)))
    except RetrogradeError:
        with pytest.raises(RetrogradeError):
            rg.jit(run)(*map(rg.asarray, operands))
        return
    rng = np.random.default_rng(1)
    others = [x + 1j * rng.uniform(1, 3, x.shape) if x.dtype.kind == "c" else x for x in operands]
    if any([is_float(x.dtype) for x in found]):
        moved = _arrays(run(*map(rg.asarray, others)))
        assert any([not np.array_equal(a, b) for a, b in zip(found, moved, strict=True)])
    for compiled, eager in zip(_arrays(rg.jit(run)(*map(rg.asarray, operands))), found, strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in NAMES if rg.ops.get(name).is_differentiable and name not in NO_DIFFERENCES])
def test_gradients_of_complex_numbers_agree_with_differences(name):
    op = rg.ops.get(name)
    case = _complex_case(op)
    if case is None or "gradients" in op.skips:
        return
    run, operands = case
    places = [i for i, x in enumerate(operands) if x.dtype.kind == "c"]

    def weighted(*parts):
        given = list(map(rg.asarray, operands))
        for i, part in zip(places, parts, strict=True):
            given[i] = part
        live = [z for z in run(*given) if isinstance(z, Value) and is_float(z.dtype)]
        weights = [np.random.default_rng(k).normal(size=(2, *z.shape)) for k, z in enumerate(live)]
        return sum(rg.sum(rg.real(z) * w[0] + (rg.imag(z) * w[1] if z.dtype.kind == "c" else 0.0))
                   for z, w in zip(live, weights, strict=True))

    start = [operands[i] for i in places]
    try:
        weighted(*map(rg.asarray, start))
    except RetrogradeError:
        return
    tensors = [rg.tensor(x, requires_grad=True) for x in start]
    value = weighted(*tensors)
    if not isinstance(value, Value) or not value.requires_grad:
        return
    try:
        value.backward()
    except RetrogradeError:
        return
    rng, step = np.random.default_rng(7), 1e-6
    ways = [rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape) for x in start]
    up, down = (float(weighted(*[rg.asarray(x + s * d) for x, d in zip(start, ways, strict=True)])) for s in (step, -step))
    along = sum([float(np.sum(np.conj(t.grad.numpy()) * d).real) for t, d in zip(tensors, ways, strict=True) if t.grad is not None])
    assert along == pytest.approx((up - down) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", ["erf", "erfc", "erfcx", "lgamma", "digamma", "ndtr", "log_ndtr", "erfinv", "i0", "gelu_erf", "softplus"])
def test_special_functions_of_complex_numbers_are_refused(name):
    function = getattr(rg.ops, name, None) or rg.ops.get(name).call
    x = np.full(20_000, 0.4 + 0.3j)  # long enough for compiled kernels
    large = rg.tensor(x)
    for given in (rg.tensor(x[0]), rg.tensor(x[:2].astype(np.complex64)), large, x[:2], 0.4 + 0.3j):
        with pytest.raises(DTypeError, match="real numbers are needed"):
            function(given)
    for transform in (rg.jit, rg.vmap):
        with pytest.raises(DTypeError, match="real numbers are needed"):
            transform(function)(rg.tensor(x[:3]))
    with pytest.raises(DTypeError, match="real numbers are needed"), rg.lazy():
        np.asarray(function(rg.tensor(x[:2])))

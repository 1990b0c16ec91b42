"""The sweep: every registered op, one test an op and a check. A check is skipped only with the reason that the op gives."""

import re

import numpy as np
import pytest

import retrograde as rg
import sweeping
from retrograde.core.value import Value
from retrograde.dtypes import is_float
from retrograde.errors import MissingRuleError
from retrograde.testing import check_gradients
from sweeping import FLOATS, cases, gradients, has_derivative, plain, results

NAMES = rg.ops.names()
DIFFERENTIABLE = [name for name in NAMES if has_derivative(rg.ops.get(name))]


def sweep(check, names=NAMES):
    """One case per op, skipped with the op's own reason if it has one for this check."""
    return pytest.mark.parametrize("op", [
        pytest.param(op := rg.ops.get(name), id=name, marks=[pytest.mark.skip(reason=op.skips[check])] if check in op.skips else [])
        for name in names
    ])


CHECKS = {"docs", "exported", "values", "dtypes", "integers", "layouts", "gradients", "gradient dtypes", "gradient memory",
          "single inputs"}


def test_skips_name_checks_of_this_sweep():
    unknown = {name: set(rg.ops.get(name).skips) - CHECKS for name in NAMES}
    assert not {name: checks for name, checks in unknown.items() if checks}


def test_every_op_has_samples():
    assert [name for name in NAMES if not rg.ops.get(name).samples] == []


@sweep("docs")
def test_op_is_documented_with_its_derivation(op):
    first = (op.doc or "").strip().partition("\n\n")[0].replace("\n", " ")
    assert re.search(r"[.;:]", first), f"{op.name} needs a docstring whose first sentence says what it computes"
    if has_derivative(op) and op.has_rule:
        assert re.search(r"\$|\\bar|gradient|cotangent|derivative", op.doc), f"the docs of {op.name} must derive its gradient"


@sweep("exported")
def test_op_is_a_public_function_or_a_name_of_the_registry_alone(op):
    exported = [name for name in (op.name, *op.aliases) if getattr(rg, name, None) is op.call]
    assert exported == ([op.name, *op.aliases] if op.is_public else [])


@sweep("values")
def test_eager_values_are_the_plain_ones(op):
    for case in cases(op):
        args, kwargs = case.drawn(np.float64)
        expected = results(op.call(*args, **kwargs))
        assert not any(isinstance(z, Value) for z in expected), f"{case}: plain operands must give plain results"
        found = results(op.call(*_as_tensors(op, args), **kwargs))
        kernel = results(op.kernel(*_bound(op, args, kwargs)))
        for z, plain_z, raw in zip(plain(found), expected, kernel, strict=True):
            np.testing.assert_array_equal(z, plain_z, err_msg=repr(case))
            raw = np.asarray(raw.data if isinstance(raw, Value) else raw)
            assert (z.shape, z.dtype) == (raw.shape, raw.dtype), case
        assert all(isinstance(z, Value) for z in found), f"{case}: a tensor operand must give tensors"


@sweep("dtypes")
def test_float_dtypes_are_kept(op):
    for case in cases(op):
        wide = None
        for dtype in FLOATS[::-1]:
            args, kwargs = case.drawn(dtype)
            if case.fixes_dtype or not case.operands(args):
                continue
            found = plain(case.run(args, kwargs)[1])
            wide = found if wide is None else wide
            for z, reference in zip(found, wide, strict=True):
                if is_float(reference.dtype):
                    assert z.dtype == dtype, f"{case}: {dtype} became {z.dtype}"
                    if op.broadcasts or dtype.itemsize > 2:
                        limit = sweeping.disagreement(z, reference, dtype)
                        assert limit <= 1, f"{case}: {dtype} gives {z}, float64 gives {reference}"
                else:
                    assert z.dtype == reference.dtype, case


@sweep("integers")
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.bool_], ids=["int64", "uint8", "bool"])
def test_integers_and_booleans_give_what_the_kernel_gives(op, dtype):
    for case in cases(op):
        args, kwargs = case.drawn(np.float64)
        args = case.rebuilt(args, [np.abs(x).astype(dtype) for x in case.operands(args)])
        with np.errstate(all="ignore"):
            try:
                expected = results(op.call(*args, **kwargs))
            except (TypeError, ValueError):
                with pytest.raises((TypeError, ValueError)):
                    op.call(*_as_tensors(op, args), **kwargs)
                continue
            found = results(op.call(*_as_tensors(op, args), **kwargs))
        for z, reference in zip(plain(found), plain(expected), strict=True):
            np.testing.assert_array_equal(z, reference, err_msg=repr(case))
            assert z.dtype == reference.dtype


def _as_tensors(op, args):
    wrapped = [rg.asarray(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in (args[0] if op.is_variadic else args)]
    return (wrapped, *args[1:]) if op.is_variadic else wrapped


LAYOUTS = {
    "transposed": lambda x: np.asarray(x.T.copy().T),
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
    "negative strides": lambda x: np.flip(np.flip(x).copy()),
    "read-only": lambda x: _locked(x.copy()),
}


def _locked(x):
    x.flags.writeable = False
    return x


@sweep("layouts")
def test_memory_layout_makes_no_difference_and_operands_are_left_alone(op):
    for case in cases(op):
        args, kwargs = case.drawn(np.float64)
        operands = case.operands(args)
        expected, wanted = results(op.call(*args, **kwargs)), None
        if has_derivative(op):
            wanted = [t.grad for t in gradients(case, args, kwargs)]
        for layout, arranged in LAYOUTS.items():
            other = case.rebuilt(args, [arranged(np.asarray(x)) for x in operands])
            before = [x.copy() for x in case.operands(other)]
            for z, reference in zip(plain(case.run(other, kwargs)[1]), plain(expected), strict=True):
                np.testing.assert_allclose(z, reference, rtol=1e-12, atol=1e-12, err_msg=f"{case}, {layout}")
            if wanted is not None:
                found = gradients(case, other, kwargs, lambda x: rg.asarray(x).requires_grad_())
                for t, g in zip(found, wanted, strict=True):
                    assert (t.grad is None) == (g is None), case
                    if g is not None:
                        np.testing.assert_allclose(t.grad.data, g.data, rtol=1e-12, atol=1e-12, err_msg=f"{case}, {layout}")
            for x, old in zip(case.operands(other), before, strict=True):
                np.testing.assert_array_equal(x, old, err_msg=f"{case}, {layout}: {op.name} wrote into an operand")


@sweep("gradients", DIFFERENTIABLE)
def test_derivatives_of_order_1_and_2_agree_with_finite_differences(op):
    checked = 0
    for case in cases(op):
        args, kwargs = case.drawn(np.float64)
        operands = case.operands(args)
        if not operands or kwargs.get("dtype") not in (None, np.float64):
            continue  # differences need float64 all the way
        check_gradients(lambda *x: op.call(*case.rebuilt(args, x), **kwargs), tuple(operands), order=2)
        checked += 1
    assert checked, f"no sample of {op.name} has a float operand"


@sweep("gradient dtypes", DIFFERENTIABLE)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gradient_has_shape_and_dtype_of_its_tensor(op, dtype):
    for case in cases(op):
        args, kwargs = case.drawn(dtype)
        precise = case.rebuilt(args, [sweeping.widened(x) for x in case.operands(args)])
        found, wanted = gradients(case, args, kwargs), gradients(case, precise, kwargs)
        for t, reference in zip(found, wanted, strict=True):
            assert (t.grad is None) == (reference.grad is None), case
            if t.grad is None:
                continue
            assert (t.grad.shape, t.grad.dtype) == (t.shape, t.dtype), case
            if dtype.itemsize > 2:
                assert sweeping.disagreement(t.grad.data, reference.grad.data, dtype) <= 1, case
            else:
                assert np.isfinite(sweeping.widened(t.grad.data)).all(), case


@sweep("gradient memory", DIFFERENTIABLE)
def test_gradients_are_writable_and_share_no_memory(op):
    for case in cases(op):
        tensors = [t for t in gradients(case, *case.drawn(np.float64)) if t.grad is not None]
        arrays = [a for t in tensors for a in (t.grad.data, t.data)]
        assert all(t.grad.data.flags.writeable for t in tensors), case
        assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i]), case


@sweep("single inputs", DIFFERENTIABLE)
def test_each_gradient_alone_is_the_one_it_is_among_others(op):
    for case in cases(op):
        args, kwargs = case.drawn(np.float64)
        operands = case.operands(args)
        together = gradients(case, args, kwargs)
        for i in range(len(operands) if len(operands) > 1 else 0):
            chosen = iter(range(len(operands)))
            alone = gradients(case, args, kwargs, lambda x: rg.tensor(x, requires_grad=next(chosen) == i))
            assert all(t.grad is None for j, t in enumerate(alone) if j != i), case
            if together[i].grad is not None:
                np.testing.assert_array_equal(alone[i].grad.data, together[i].grad.data, err_msg=f"{case}, operand {i}")


@pytest.mark.parametrize("name", [name for name in NAMES if not rg.ops.get(name).is_differentiable])
def test_op_without_a_derivative_needs_no_gradient_or_refuses_to_lose_one(name):
    op = rg.ops.get(name)
    for case in cases(op):
        args, kwargs = case.drawn(np.float64)
        if "values" in op.skips or not case.operands(args):
            continue
        tensors = [rg.tensor(x, requires_grad=True) for x in case.operands(args)]
        run = lambda *tensors, case=case, args=args, kwargs=kwargs: results(op.call(*case.rebuilt(args, tensors), **kwargs))
        with rg.no_grad():
            has_floats = any(is_float(z.dtype) for z in run(*tensors))
        if not has_floats:
            assert not any(z.requires_grad for z in run(*tensors))
            continue
        for call in (run, rg.jit(run)):
            with pytest.raises(MissingRuleError, match="has no derivative"):
                call(*tensors)


def _bound(op, args, kwargs):
    return rg.core.dispatch.binder(op)(*args, **kwargs)


@sweep("gradients", [name for name in DIFFERENTIABLE if rg.ops.get(name).has_rule])
def test_the_sweep_catches_a_rule_that_is_off_by_a_twentieth_of_a_percent(op, monkeypatch):
    for number, rule in enumerate([op.joint] if op.joint else op.rules):
        if rule is None:
            continue
        right, slopes = rule.function, []

        def wrong(*saved, right=right, slopes=slopes):
            found = right(*saved)
            slopes.extend(np.abs(g.data if isinstance(g, Value) else g).max(initial=0) for g in _each(found) if g is not None)
            return [g if g is None else g * 1.0005 for g in found] if isinstance(found, (tuple, list)) else found * 1.0005

        with monkeypatch.context() as patch:
            patch.setattr(rule, "function", wrong)
            caught = not all(_passes(op, case) for case in cases(op))
        assert caught or not slopes or max(slopes) == 0, f"rule {number} of {op.name}"


def _each(found):
    return found if isinstance(found, (tuple, list)) else [found]


def _passes(op, case):
    args, kwargs = case.drawn(np.float64)
    operands = case.operands(args)
    if not operands or kwargs.get("dtype") not in (None, np.float64):
        return True
    try:
        check_gradients(lambda *x: op.call(*case.rebuilt(args, x), **kwargs), tuple(operands), order=1)
    except rg.errors.GradientCheckError:
        return False
    return True

"""check_compiled finds code that computes something else than the op, and passes what is right."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, CompiledCheckError
from retrograde.testing import check_compiled, check_gradients

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def softsign(x, /):
    """`x` divided by one more than its magnitude."""
    return x / (1 + np.abs(x))


@pytest.fixture(autouse=True)
def _machine_code(monkeypatch):
    monkeypatch.delenv("RETROGRADE_COMPILER", raising=False)


@pytest.fixture
def define():
    """Define softsign for the time of one test, with facts of its own."""

    def define(**facts):
        op = rg.ops.elementwise(**facts)(softsign)
        op.defvjp(lambda g, x: g / (1 + abs(x)) ** 2)
        return op

    yield define
    rg.ops.unregister("softsign")


def _emitted(k, x):
    return k.divide(x, k.add(k.abs(x), 1))


def _off(k, x):
    return k.divide(x, k.add(k.abs(x), 1.0005))


def _off_in_vectors(k, x):
    return _emitted(k, x) if k.lanes == 1 else _off(k, x)


def _off_in_float64(k, x):
    return _off(k, x) if k.dtype_of(x) == "float64" else _emitted(k, x)


@pytest.mark.parametrize("facts", [{}, {"emit": _emitted}], ids=["its own expansion", "emit"])
def test_an_op_whose_code_is_right_passes(define, facts):
    check_compiled(define(**facts))


@pytest.mark.parametrize("emit", [_off, _off_in_vectors, _off_in_float64])
def test_an_emit_that_is_off_by_half_a_thousandth_is_found_where_derivatives_are_right(define, emit):
    op = define(emit=emit)
    check_gradients(op, np.array([-2.0, 0.5, 1.0]))
    with pytest.raises(CompiledCheckError, match=r"softsign of float(32|64)\[.*compiled code disagrees with the eager op: expected"):
        check_compiled(op)


def test_an_expansion_with_another_gradient_is_found(define):
    """The rule reads the result, which the compiled code gets wrong by less than values are compared to."""
    op = define(expansion=lambda x: x / (1 + rg.abs(x)) + 0 * x)
    check_compiled(op)
    op.defvjp(lambda g, x: g * rg.where(x > 0, wrong(x), 1.0))
    wrong = rg.ops.elementwise(emit=lambda k, x: k.multiply(x, 1.001))(_identity)
    try:
        with pytest.raises(CompiledCheckError, match="the gradient of softsign"):
            check_compiled(op)
    finally:
        rg.ops.unregister("_identity")


def _identity(x, /):
    """`x`."""
    return x * 1.0


@pytest.mark.parametrize("name", ["sinc", "where", "sum", "concatenate", "cross_entropy", "sort", "attention", "max_pool2d_with_taps"])
def test_ops_of_each_sort_pass(name):
    check_compiled(rg.ops.get(name).call)


def test_a_function_is_called_with_what_it_is_given():
    check_compiled(lambda x, y: {"product": x @ y["weight"]}, (np.ones((2, 3)), {"weight": np.ones((3, 4))}))
    with pytest.raises(CompiledCheckError, match=r"of float32\[2\]: .* expected 2.0"):
        check_compiled(_Changing(), np.ones(2), dtypes=["float32"])


class _Changing:
    """Gives 1 where it is traced, and 2 everywhere else."""

    def __call__(self, x):
        return x * (1 if x.is_traced else 2)


def test_what_cannot_be_checked_is_told(define):
    with pytest.raises(ArgumentError, match="needs `inputs`"):
        check_compiled(lambda x: x)
    with pytest.raises(ArgumentError, match="softsign has no samples"):
        check_compiled(define(samples=None))

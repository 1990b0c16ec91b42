"""Tracing asks rules, not kernels, for the shapes of ops that take long."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.graph.infer import infer
from retrograde.compiler.trace.trace import Trace
from retrograde.core import registry
from retrograde.core.mode import changed
from retrograde.core.symbol import Symbol
from retrograde.errors import BroadcastWarning, LinAlgError, ShapeError
from retrograde.ops._native import Native
from sweeping import cases

RULED = [rg.ops.get(name) for name in rg.ops.names() if rg.ops.get(name).result_shape is not None]
KEEPING = [rg.ops.get(name) for name in rg.ops.names() if rg.ops.get(name).keeps_sizes]
SLOW = ["conv2d", "conv2d_input", "conv2d_weight", "contract", "matmul", "cholesky", "inv", "solve", "solve_triangular"]


class _Forgetful(dict):
    """A memory that keeps nothing, so that each shape is asked for anew."""

    def __setitem__(self, key, value):
        pass


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch):
    monkeypatch.setattr("retrograde.compiler.graph.infer._KNOWN", _Forgetful())


def symbolic(argument):
    if isinstance(argument, (list, tuple)) and argument and isinstance(argument[0], np.ndarray):
        return [symbolic(a) for a in argument]
    return Symbol(None, (), argument.shape, argument.dtype) if isinstance(argument, np.ndarray) else argument


def called_with(case, dtype):
    is_float = np.dtype(dtype).kind == "f"
    args, kwargs = case.drawn(dtype if is_float else "float64")
    args = args if is_float else case.rebuilt(args, [x.real.astype(dtype) for x in case.operands(args)])
    names = case.op.arguments
    defaults = dict(zip(names[::-1], (case.op.kernel.__defaults__ or ())[::-1], strict=False))
    return [*args, *[{**defaults, **kwargs}[name] for name in names[len(args):]]]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("op", RULED, ids=lambda op: op.name)
def test_rule_gives_the_shape_and_dtype_of_the_kernels_result(op, dtype):
    for case in cases(op):
        args = called_with(case, dtype)
        with np.errstate(all="ignore"):
            result = op.kernel(*args)
        symbols = [symbolic(a) if i in op.operands or op.is_variadic else a for i, a in enumerate(args)]
        found, made = infer(op, symbols), [*result] if op.is_multiple else [result]
        expected = [(np.shape(r), np.asarray(r).dtype) for r in made]
        assert (found if op.is_multiple else [found]) == expected, case


@pytest.mark.parametrize("dtype", ["int64", "int8", "bool"])
@pytest.mark.parametrize("op", [op for op in RULED if "integers" not in op.skips], ids=lambda op: op.name)
def test_rule_gives_the_dtype_of_what_the_kernel_makes_of_integers(op, dtype):
    for case in cases(op):
        args = called_with(case, dtype)
        try:
            with np.errstate(all="ignore"):
                made = op.kernel(*args)
        except (ArithmeticError, LinAlgError, TypeError, ValueError):  # there is no answer, or none for such numbers
            continue
        symbols = [symbolic(a) if i in op.operands or op.is_variadic else a for i, a in enumerate(args)]
        found, made = infer(op, symbols), [*made] if op.is_multiple else [made]
        assert (found if op.is_multiple else [found]) == [(np.shape(r), np.asarray(r).dtype) for r in made], case


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [
    rg.linalg.inv, lambda x: rg.linalg.solve(x, x[0]), rg.linalg.cholesky, lambda x: rg.linalg.matrix_power(x, -2), lambda x: rg.linalg.cond(x, 1),
    lambda x: rg.ops.get("solve_sylvester").call(x, x, x), rg.linalg.det, lambda x: rg.nn.functional.scaled_dot_product_attention(x, x, x)])
def test_floats_that_are_computed_of_integers_are_so_in_every_form(function):
    x = np.array([[2, 1], [1, 3]])
    wanted = np.asarray(function(rg.tensor(x)))
    assert wanted.dtype == np.float64
    for found in (rg.jit(function)(x), rg.vmap(function)(x[None])[0]):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-12)


@pytest.mark.parametrize("op", KEEPING, ids=lambda op: op.name)
def test_small_arrays_tell_the_shape_and_dtype_of_the_kernels_result(op, monkeypatch):
    monkeypatch.setattr("retrograde.compiler.graph.infer._FEWEST", 0)
    test_rule_gives_the_shape_and_dtype_of_the_kernels_result(op, "float16")
    test_rule_gives_the_shape_and_dtype_of_the_kernels_result(op, "float32")


@pytest.mark.parametrize("function", [
    lambda x, p: x.sum(axis=1), lambda x, p: x.max(axis=0), lambda x, p: rg.softmax(x), lambda x, p: rg.sort(x),
    lambda x, p: rg.nn.functional.cross_entropy(x, p), lambda x, p: rg.nn.functional.mse_loss(x, x + 1, reduction="none"),
    lambda x, p: x.astype("float16"), lambda x, p: rg.cumsum(x, axis=0), lambda x, p: rg.fft.fft(x), lambda x, p: rg.pad(x, 1),
    lambda x, p: rg.take(x, p, axis=1), lambda x, p: rg.std(x, axis=(0, 1)), lambda x, p: rg.norm(x), lambda x, p: rg.linalg.svdvals(x),
    lambda x, p: rg.nn.functional.dropout(x)])
def test_shapes_of_large_results_take_no_memory(function):
    x, places = Symbol(None, (), (1 << 20, 1 << 21), np.dtype("float32")), Symbol(None, (), (1 << 20,), np.dtype("int64"))
    with changed(tracer=Trace()):
        function(rg.Tensor(x), rg.Tensor(places))


def test_misfits_are_told_in_the_sizes_that_the_user_knows():
    with pytest.raises(ShapeError, match="3000"):
        rg.jit(rg.nn.functional.cross_entropy)(rg.ones(2000, 5), np.zeros(3000, int))
    with pytest.raises(Exception, match="axis 2"):
        rg.jit(lambda x: x.sum(axis=2))(rg.ones(2000, 5))


@pytest.mark.parametrize("name", SLOW)
def test_slow_kernels_are_not_run_by_a_trace(name, monkeypatch):
    op = rg.ops.get(name)
    args = called_with(cases(op)[0], "float32")
    symbols = [symbolic(a) if i in op.operands or op.is_variadic else a for i, a in enumerate(args)]
    expected = infer(op, symbols)
    monkeypatch.setattr(op, "kernel", None)
    assert infer(op, symbols) == expected


def test_a_convolution_that_does_not_fit_is_refused_while_it_is_traced():
    with pytest.raises(ShapeError, match="one number for each of the 2 output channels"):
        rg.jit(lambda x, w, b: rg.conv2d(x, w, b))(rg.ones(1, 1, 4, 4), rg.ones(2, 1, 3, 3), rg.ones(3))
    with pytest.raises(ShapeError, match="output of this convolution"):
        rg.jit(lambda x, y: rg.ops.get("conv2d_weight").call(x, y, (2, 1, 3, 3)))(rg.ones(1, 1, 4, 4), rg.ones(1, 2, 3, 3))


def test_shapes_are_found_without_code_for_the_arrays_that_stand_for_traced_ones(monkeypatch):
    asked = []
    monkeypatch.setattr(Native, "__call__", lambda self, name, *args: asked.append((name, args)) or NotImplemented)
    x, labels = Symbol(None, (), (4, 37, 41), np.dtype("float32")), Symbol(None, (), (148,), np.dtype("int64"))
    for name, args in (
        ("softmax", (x, -1)), ("log_softmax", (x, 1)), ("logsumexp", (x, (0, 2), False)), ("var", (x, -1, False, 0, None)),
        ("cross_entropy", (Symbol(None, (), (148, 41), x.dtype), labels, None, -100, "none", 0.0)),
        ("cross_entropy_slopes", (Symbol(None, (), (148, 41), x.dtype), labels, None, -100, "mean", 0.0)),
    ):
        infer(rg.ops.get(name), args)
    assert asked == []


def test_what_is_known_of_a_result_is_that_of_equal_arguments_alone(monkeypatch):
    monkeypatch.setattr("retrograde.compiler.graph.infer._KNOWN", {})
    x, table, op = Symbol(None, (), (3, 4), np.dtype("float32")), np.arange(3), rg.ops.get
    for _ in range(2):
        assert infer(op("sum"), (x, 0, False, None, None)) == ((4,), np.float32)
        assert infer(op("sum"), (x, 0, True, None, None))[0] == (1, 4)
        assert infer(op("sum"), (x, 1, False, np.dtype("float64"), None)) == ((3,), np.float64)
        assert infer(op("astype"), (x, np.float64)) == ((3, 4), np.float64)
        assert infer(op("astype"), (x, np.dtype("int8"))) == ((3, 4), np.int8)
        assert infer(op("getitem"), (x, (slice(1, None), 0)))[0] == (2,)
        assert infer(op("getitem"), (x, (slice(1, 2), 0)))[0] == (1,)
        assert infer(op("getitem"), (x, (table > 0,)))[0] == (2, 4)
        assert infer(op("getitem"), (x, (table > 1,)))[0] == (1, 4)


def test_what_warns_is_not_known_but_asked_each_time(monkeypatch):
    monkeypatch.setattr("retrograde.compiler.graph.infer._KNOWN", {})
    x, y = (Symbol(None, (), shape, np.dtype("float32")) for shape in ((4, 1), (4,)))
    for _ in range(2):
        with pytest.warns(BroadcastWarning):
            assert infer(rg.ops.get("huber_loss"), (x, y, "none", 1.0))[0] == (4, 4)


def test_the_kernel_of_a_users_op_is_asked_each_time(monkeypatch):
    monkeypatch.setattr("retrograde.compiler.graph.infer._KNOWN", {})
    rows = [1]

    @rg.ops.movement()
    def first_rows(x, /):
        """The first rows of `x`, of which there may be others the next time."""
        return x[: rows[0]]

    op = rg.ops.get("first_rows")
    registry.unregister("first_rows")
    for rows[0] in (1, 2):
        assert infer(op, (Symbol(None, (), (3, 4), np.dtype("float32")),))[0] == (rows[0], 4)

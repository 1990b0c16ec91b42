"""rounded: what a program compares is the value that is stored, in whichever kernels it is computed."""

from itertools import cycle

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler import backends
from retrograde.compiler.backends.cpu import stored
from retrograde.compiler.index import rounded
from retrograde.compiler.passes import fuse
from retrograde.core import registry
from retrograde.dtypes import as_dtype

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

#: Formulas of a vector and of the products of its elements, in which a value meets itself, or one of its own extrema.
FORMULAS = {
    "a minimum": lambda x, o: rg.min(0.3 - o, axis=1) * rg.sum(o, axis=1),
    "a maximum": lambda x, o: rg.max(1 + o, axis=1) * rg.mean(o, axis=1),
    "the distance from a maximum": lambda x, o: rg.relu(rg.max(1 + o, axis=1, keepdims=True) - (1 + o)) * o,
    "a root of that": lambda x, o: rg.sqrt(rg.max(o) - o) * rg.sum(o),
    "a choice": lambda x, o: rg.where(1 + o >= rg.max(1 + o, axis=1, keepdims=True), o, 0) * rg.sum(o),
    "an argmax": lambda x, o: rg.take_along_axis(1 + o, rg.argmax(1 + o, axis=1)[:, None], axis=1) * rg.sum(o, axis=0),
    "an order": lambda x, o: rg.sort(1 + o, axis=1) * rg.sum(o) - rg.take_along_axis(o, rg.argsort(x - o, axis=0), axis=0),
    "the first few": lambda x, o: rg.topk(1 + o, 2)[0] * rg.sum(o),
    "a median": lambda x, o: rg.median(0.7 * o + 1, axis=1) * rg.sum(o, axis=1),
    "a running maximum": lambda x, o: (rg.cummax(1 + o, 1)[0] - (1 + o)) * rg.sum(o),
    "a limit": lambda x, o: rg.clip(rg.max(1 + o) - o - 1, 0, 0.2) * o + rg.minimum(1 + o, rg.max(1 + o)) * rg.sum(o),
    "whole numbers": lambda x, o: rg.floor(1 + o - rg.min(1 + o, axis=0)) + rg.sign(rg.max(o * 0.7) - 0.7 * o) * rg.mean(o),
    "sums in two orders": lambda x, o: rg.where(o + x * 0.3 == 0.3 * x + o.T, o, x) * rg.max(o + x),
    "functions": lambda x, o: rg.where(rg.exp(1 + o) >= rg.max(rg.exp(1 + o)), rg.sin(o), rg.sqrt(o)) * rg.sum(rg.exp(1 + o)),
    "a loop": lambda x, o: rg.scan(lambda c, _: (c * 0.9 + rg.relu(rg.max(c * x) - c * x), rg.max(1 + c * x)), x, None, length=3)[0],
}
FORMS = {
    "value": lambda f: f,
    "gradient": rg.grad,
    "second derivative": lambda f: rg.grad(lambda x: (rg.grad(f)(x) * x).sum()),
    "vmap of the gradient": lambda f: lambda x: rg.vmap(rg.grad(f))(rg.stack([x, rg.flip(x, 0), x * 0.5])),
}


def program(formula):
    return lambda x: formula(x, x[:, None] * x).sum()


def is_alike(function, inputs):
    """Whether compiled code gives what NumPy gives, for all inputs."""
    compiled = rg.jit(function)
    with np.errstate(all="ignore"):
        pairs = [(np.asarray(function(rg.tensor(x))), np.asarray(compiled(rg.tensor(x)))) for x in inputs]
    return all([np.allclose(a, b, rtol=1e-8, atol=1e-8) or not np.all(np.isfinite(a)) for a, b in pairs])


def inputs(count=2):
    rng = np.random.default_rng(5)
    sizes = [3, 17, 9, 5][:count]
    return [rng.uniform(0, 1, n) for n in sizes] + [rng.choice([0.1, 0.3, 0.7], n) for n in sizes]


@pytest.mark.parametrize(("name", "form"), [
    *[(name, "gradient") for name in FORMULAS],
    *zip(FORMULAS, cycle(["value", "second derivative", "vmap of the gradient", "value"]), strict=False)])
def test_what_is_compared_is_what_is_stored(name, form):
    assert is_alike(FORMS[form](program(FORMULAS[name])), inputs())


@pytest.fixture
def unstored(monkeypatch):
    """Programs are neither found on disk nor left there."""
    def refused(_):
        raise stored.NoKeyError

    monkeypatch.setattr(stored, "key_of", refused)


@pytest.mark.parametrize("name", ["a minimum", "the distance from a maximum", "a choice"])
@pytest.mark.usefixtures("unstored")
def test_it_is_not_where_all_products_may_be_fused(name, monkeypatch):
    monkeypatch.setattr(fuse, "rounded_values", lambda *_: frozenset())
    x = np.full(9, 1 + 2.0**-30)
    is_fused = bool(np.any(np.asarray(rg.jit(lambda x, y: y - x * x)(rg.tensor(x), rg.tensor(x * x)))))
    assert is_alike(rg.grad(program(FORMULAS[name])), inputs(4)) is not is_fused


@pytest.mark.usefixtures("unstored")
def test_a_maximum_of_half_precision_is_not_found_without_it(monkeypatch):
    x = np.random.default_rng(0).uniform(-2, 2, 301).astype(as_dtype("bfloat16"))

    def count(x):
        y = rg.tanh(x) * x * 1.37
        return (y == rg.max(y)).sum()

    assert rg.jit(count)(x) >= 1
    if backends.chosen_name() == "native":  # NumPy rounds after each op
        monkeypatch.setattr(rounded, "_ROUNDED", "nothing")
        assert rg.jit(lambda x: count(x))(x) == 0


class Programs:
    """Random programs: elementwise steps, of which some select by value, and reductions that keep kernels apart."""

    STEPS = (
        "{a} + {c}", "{c} - {a}", "{a} * {b}", "{a} * x + {c}", "{a} * {c} - {b} * {c}", "rg.sqrt(1 + {a} * {a})", "rg.tanh({a})",
        "{a}.T", "rg.flip({a}, 0)", "{a} * rg.sum({b}, axis={n}, keepdims=True)", "rg.square({a}) - {b}", "{a} / (1 + {b} * {b})")
    SELECTING = (
        "rg.max({a}, axis={n}, keepdims=True) - {a}", "rg.where({a} >= rg.max({a}, axis={n}, keepdims=True), {b}, 0)",
        "rg.where({a} == {b}, {a}, {b} * 2)", "rg.relu({a} - rg.min({a}))", "rg.maximum({a}, {b}.T)", "rg.sort({a}, axis={n})",
        "rg.take_along_axis({b}, rg.argsort({a}, axis={n}), axis={n})", "rg.abs({a} - rg.max({a})) * {b}", "rg.sign({a} - {b}) * {a}",
        "rg.median({a}, axis={n}, keepdims=True) * {b}", "rg.cummax({a}, {n})[0] - {a}", "rg.clip({a} - rg.min({a}), 0, 0.5)")

    def __init__(self, seed):
        self._rng, lines = np.random.default_rng(seed), ["o = x[:, None] * x"]
        for number in range(5):
            steps = self.SELECTING if self._rng.random() < 0.5 else self.STEPS
            lines.append(f"v{number} = {self._filled(steps[self._rng.integers(len(steps))], number)}")
        lines.append(self._filled("return (rg.max({a}, axis={n}) * rg.mean({b}, axis={n})).sum() + rg.sum({a}) * x.sum()", 5))
        self.source = "def f(x):\n    " + "\n    ".join(lines)

    def _filled(self, step, count):
        names = ["o", *[f"v{i}" for i in range(count)]][-3:]
        a, b = (names[i] for i in self._rng.integers(len(names), size=2))
        return step.format(a=a, b=b, c=(0.3, 0.7, 1.1)[self._rng.integers(3)], n=self._rng.integers(2))

    @property
    def function(self):
        """The program."""
        names = {"rg": rg}
        exec(self.source, names)
        return names["f"]


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_with_ties_give_what_numpy_gives(seed):
    made = Programs(seed)
    form = ("gradient", "value", "gradient", "vmap of the gradient")[seed % 4]
    assert is_alike(FORMS[form](made.function), inputs(1)), made.source


def fused_products(function, *arrays):
    """How many products the kernels of a function fuse with sums."""
    step = rg.jit(function)
    step(*map(rg.tensor, arrays))
    return sum([unit.text.count("llvm.fmuladd") for part in step._last_step().program.parts for unit in part.units])


@pytest.mark.usefixtures("unstored")
def test_products_are_fused_where_nothing_selects_by_value():
    x = np.linspace(0, 1, 50)
    assert fused_products(lambda x: x * x + 1, x)
    assert fused_products(lambda x: (x * x + 1, rg.max(x)), x)
    assert fused_products(lambda x: rg.tanh(x * x + 1) - rg.sum(x * x + 1), x)
    assert not fused_products(lambda x: rg.max(x * x + 1), x)
    assert not fused_products(lambda x: rg.relu(rg.exp(x * x + 1)), x)


@pytest.mark.usefixtures("unstored")
def test_the_way_to_what_selects_ends_at_what_is_found_in_memory_only():
    x = np.linspace(0, 1, 50)
    assert fused_products(lambda x: rg.relu(rg.sum(x * x + 1) - rg.sum(x)), x)


def test_what_ops_of_users_are_handed_is_what_numpy_gives_them():
    @rg.ops.elementwise(is_differentiable=False)
    def is_there(x, /):
        return (x > 0) * 1.0

    try:
        assert is_alike(program(lambda x, o: is_there(rg.sum(rg.stack([o, o]), axis=0) / 2 - o)), inputs())
    finally:
        rg.ops.unregister("is_there")


def test_what_selects_by_value_is_an_op():
    families = {registry.get(name).family for name in registry.names()}
    assert families >= rounded._SELECTING_FAMILIES
    assert all([registry.get(name).name == name for name in (*rounded._SELECTING, *rounded.PRODUCTS)])


SLOPES = [rg.grad(lambda x, f=f: f(x).sum()) for f in (rg.silu, rg.gelu)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("pair", [(rg.sin, rg.cos), (rg.silu, SLOPES[0]), (rg.gelu, SLOPES[1])], ids=["sine", "silu", "gelu"])
def test_functions_that_are_found_together_have_the_bits_of_each_by_itself(pair, dtype):
    x = rg.tensor(np.random.default_rng(0).normal(0, 4, 5000), dtype)
    together = rg.jit(lambda x: [f(x) for f in pair])(x)
    assert all([np.array_equal(a, rg.jit(lambda x, f=f: f(x))(x)) for f, a in zip(pair, together, strict=True)])

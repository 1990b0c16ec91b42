"""Everything that HIPS autograd differentiates is differentiated: values and gradients are its own, and agree with differences."""

import importlib
import re
from functools import partial
from types import SimpleNamespace

import numpy as onp
import pytest
from autograd_names import BEYOND_AUTOGRAD, CALLS, INNER, SHAPES

import retrograde as rg
from retrograde.testing import check_gradients

pytest.importorskip("scipy")
CASES = [(name, call) for name, calls in CALLS.items() for call in calls]
STATS = ("norm", "t", "beta", "gamma", "chi2", "poisson", "dirichlet", "multivariate_normal")
#: What only first derivatives are checked of by differences, with the reason.
FIRST_ORDER_ONLY = {"scipy.integrate.odeint": "its error, small as it is, is too large to take differences of gradients"}


def library(package):
    """The modules of a package by the names that calls use."""
    load = lambda name: importlib.import_module(f"{package}.{name}")
    stats = {name: load(f"scipy.stats.{name}") for name in STATS}
    return {
        "np": load("numpy"), "linalg": load("numpy.linalg"), "fft": load("numpy.fft"), "special": load("scipy.special"),
        "slinalg": load("scipy.linalg"), "signal": load("scipy.signal"), "integrate": load("scipy.integrate"), "onp": onp,
        "builtins": load("builtins"), "pendulum": partial(pendulum, load("numpy")),
        **stats, "t_": stats["t"], "mvn": stats["multivariate_normal"],
    }


def pendulum(np, y, t, w):
    """The slope of a nonlinear equation with four parameters."""
    return -w[:3] * np.sin(y) + w[3] * t


def operands(call):
    """The names in a call and the arrays that they stand for."""
    rng = onp.random.default_rng(len(call))
    drawn = {name: rng.uniform(0.2, 0.9, shape) for name, shape in SHAPES.items()}
    drawn["d"] = drawn["d"] @ drawn["d"].T + onp.diag([1.0, 2.0, 3.0])
    return {name: array for name, array in drawn.items() if re.search(rf"\b{name}\b", re.sub(r'"[^"]*"', "", call))}


def evaluated(call, modules, names, arrays):
    found = eval(call, {**modules, **dict(zip(names, arrays, strict=True))})
    is_several = isinstance(found, (tuple, list)) or type(found).__name__ == "SequenceBox"
    return list(found) if is_several else [found]


def weighted(call, modules, names, *arrays):
    """One number made of all results, no two elements of which count alike."""
    np, total, rng = modules["np"], 0.0, onp.random.default_rng(1)
    for part in evaluated(call, modules, names, arrays):
        shape = np.shape(part)
        total = total + np.sum(np.real(part) * rng.uniform(0.5, 1.5, shape))
        if np.iscomplexobj(part):
            total = total + np.sum(np.imag(part) * rng.uniform(0.5, 1.5, shape))
    return total


@pytest.mark.parametrize(("name", "call"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_values_and_gradients_are_those_of_autograd(name, call):
    autograd = pytest.importorskip("autograd")
    if call in BEYOND_AUTOGRAD:
        pytest.skip(f"not with autograd: {BEYOND_AUTOGRAD[call]}")
    found = operands(call)
    numbers = tuple(range(len(found)))
    results = []
    for grad, package in ((autograd.value_and_grad, "autograd"), (rg.value_and_grad, "retrograde")):
        function = partial(weighted, call, library(package), list(found))
        results.append(grad(lambda *x, function=function: function(*x), numbers)(*found.values()))
    (value, gradients), (ours, our_gradients) = results
    onp.testing.assert_allclose(ours, value, rtol=1e-10, err_msg=call)
    for symbol, g, ours in zip(found, gradients, our_gradients, strict=True):
        if symbol == "d":  # the part of a symmetric matrix's gradient that a symmetric change sees
            g, ours = g + g.T, ours + ours.T
        onp.testing.assert_allclose(ours, g, rtol=1e-6 if "odeint" in name else 1e-8, atol=1e-10, err_msg=f"{call} in {symbol}")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "call"), CASES, ids=[f"{name}-{i}" for i, (name, _) in enumerate(CASES)])
def test_derivatives_agree_with_differences(name, call):
    found, modules = operands(call), library("retrograde")
    order = 1 if name in FIRST_ORDER_ONLY else 2

    def function(*arrays):
        arrays = [(x + x.T) / 2 if symbol == "d" else x for symbol, x in zip(found, arrays, strict=True)]
        return weighted(call, modules, list(found), *arrays)

    check_gradients(function, tuple(found.values()), order, rtol=1e-5)


def test_every_name_that_autograd_differentiates_is_in_the_table():
    pytest.importorskip("autograd")
    core = importlib.import_module("autograd.core")
    modules = ["numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.signal", "scipy.integrate",
               *(f"scipy.stats.{name}" for name in STATS)]
    wanted = set()
    for module in modules:
        for name, value in vars(importlib.import_module(f"autograd.{module}")).items():
            if not name.startswith("_") and callable(value) and value in core.primitive_vjps:
                wanted.add(f"{module}.{name}")
    assert len(wanted) > 180
    assert wanted - set(CALLS) - INNER == set()


@pytest.mark.parametrize("name", [name for name in CALLS if name != "numpy.getitem"])
def test_every_name_is_there_and_is_numpys_or_scipys_own_on_arrays(name):
    module, _, attribute = name.rpartition(".")
    ours = getattr(importlib.import_module(f"retrograde.{module}"), attribute)
    theirs = importlib.import_module(module.rpartition(".stats.")[0] + ".stats" if ".stats." in module else module)
    theirs = getattr(theirs, module.rpartition(".")[2]) if ".stats." in module else theirs
    if name == "scipy.signal.convolve":
        return  # of autograd's own making, with other arguments than SciPy's
    for call in CALLS[name]:
        modules, found = library("retrograde"), operands(call)
        plain = SimpleNamespace(**{attribute: getattr(theirs, attribute)})
        alias = {"numpy": "np", "numpy.linalg": "linalg", "numpy.fft": "fft", "scipy.linalg": "slinalg", "scipy.stats.t": "t_",
                 "scipy.stats.multivariate_normal": "mvn"}.get(module, module.rpartition(".")[2])
        if f"{alias}.{attribute}(" not in call:
            continue
        for mine, other in zip(evaluated(call, modules, found, found.values()),
                               evaluated(call, {**modules, alias: _Overlay(modules[alias], plain)}, found, found.values()), strict=True):
            onp.testing.assert_array_equal(mine, other)
            assert not isinstance(mine, rg.Tensor)
    assert callable(ours)


class _Overlay:
    """A module with some names of another."""

    def __init__(self, base, over):
        self._base, self._over = base, over

    def __getattr__(self, name):
        return getattr(self._over, name) if hasattr(self._over, name) else getattr(self._base, name)

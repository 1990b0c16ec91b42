"""Small helpers of autograd's users: flat trees, optimizers, type tests, and what NumPy's names refuse."""

import numpy as onp
import pytest

import retrograde as rg
import retrograde.numpy as np
from retrograde import builtins
from retrograde.errors import DTypeError
from retrograde.misc import flatten, optimizers
from retrograde.misc.flatten import flatten_func

TREE = {"b": [onp.arange(3.0), 2.0], "a": (onp.ones((2, 2)),)}


def test_a_tree_is_flat_and_back_in_the_order_of_its_keys():
    vector, unflatten = flatten(TREE)
    onp.testing.assert_array_equal(vector, [1, 1, 1, 1, 0, 1, 2, 2])
    again = unflatten(vector * 2)
    onp.testing.assert_array_equal(again["b"][0], [0, 2, 4])
    assert again["a"][0].shape == (2, 2) and again["b"][1] == 4
    onp.testing.assert_array_equal(rg.grad(lambda v: np.sum(unflatten(v)["b"][0] ** 2))(vector), [0, 0, 0, 0, 0, 2, 4, 0])
    assert flatten([])[0].size == 0


def test_a_function_of_trees_is_one_of_vectors():
    function, _, vector = flatten_func(lambda tree: {"c": tree["a"][0] * 3}, TREE)
    onp.testing.assert_array_equal(function(vector), [3, 3, 3, 3])


@pytest.mark.parametrize("name", ["adam", "rmsprop", "sgd"])
def test_an_optimizer_takes_the_steps_of_autograds(name):
    theirs = pytest.importorskip("autograd.misc.optimizers")
    seen = {"ours": [], "theirs": []}
    gradient = lambda tree, i: {"a": 2 * tree["a"] + i, "b": 3 * tree["b"]}
    found, expected = (
        getattr(module, name)(gradient, {"a": onp.ones(2), "b": onp.ones(())}, lambda x, i, g, key=key: seen[key].append(x["a"]), num_iters=20)
        for key, module in (("ours", optimizers), ("theirs", theirs)))
    for key in expected:
        onp.testing.assert_allclose(found[key], expected[key], rtol=1e-12)
    onp.testing.assert_allclose(seen["ours"], seen["theirs"], rtol=1e-12)


def test_types_are_those_of_the_arrays_in_tensors():
    x = rg.ones(2)
    assert builtins.isinstance(x, onp.ndarray) and builtins.type(x) is onp.ndarray
    assert builtins.isinstance(3, int) and not builtins.isinstance(x, list)


def test_names_that_are_no_functions_are_numpys():
    assert np.pi is onp.pi and np.ndarray is onp.ndarray and np.float64 is onp.float64 and np.newaxis is None
    assert np.random.RandomState is onp.random.RandomState
    assert {name for name in dir(onp) if not name.startswith("_")} <= set(dir(np))


def test_lists_of_tensors_become_one_tensor():
    found = rg.grad(lambda x: np.sum([x[0], x[1] * 3]) + np.dot([x[0], 1.0], [2.0, x[1]]) + np.exp([x[0], 0.0])[0])(onp.array([0.0, 5.0]))
    onp.testing.assert_allclose(found, [1 + 2 + 1, 3 + 1])


def test_brackets_join_tensors():
    found = rg.jacobian(lambda x: np.r_[x, 1.0, x[:1] * 2])(onp.ones(2))
    onp.testing.assert_array_equal(found, [[1, 0], [0, 1], [0, 0], [2, 0]])
    assert rg.jacobian(lambda x: np.c_[x, x])(onp.ones(2)).shape == (2, 2, 2)
    onp.testing.assert_array_equal(np.r_[1:3, 5], onp.r_[1:3, 5])


@pytest.mark.parametrize("call", [
    lambda x: np.random.normal(x), lambda x: np.unwrap(x), lambda x: np.sum(x, out=onp.empty(())), lambda x: np.spacing(x),
    lambda x: np.polyfit(x, x, 1)])
def test_what_would_lose_the_gradient_is_refused(call):
    with pytest.raises(DTypeError):
        rg.grad(lambda x: np.sum(call(x)))(onp.ones(3))


def test_what_needs_no_gradient_passes_to_numpy():
    x = rg.tensor(onp.ones(3))
    onp.testing.assert_array_equal(np.unwrap(x), onp.ones(3))
    assert np.allclose(x, 1.0) and np.random.choice(x) == 1.0

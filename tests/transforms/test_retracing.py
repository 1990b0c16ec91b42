"""Functions that are jitted anew again and again: said once, where it costs, and nowhere else."""

import warnings

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import RetraceWarning

X, COUNT = np.ones(3), 50


def in_a_loop():
    for _ in range(COUNT):
        rg.jit(lambda x: x * 2)(X)


def in_a_loop_with_a_variable_of_the_function_around():
    weight = rg.ones(3)
    for _ in range(COUNT):
        rg.jit(rg.grad(lambda x: (x * weight).sum()))(X)


def by_one_name():
    for _ in range(COUNT):
        rg.jit(once_more)(X)


def once_more(x):
    return x + 1


@pytest.mark.parametrize("run", [in_a_loop, in_a_loop_with_a_variable_of_the_function_around, by_one_name])
def test_a_function_that_is_jitted_anew_at_each_call_is_warned_about_once(run):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    assert [w.category for w in caught] == [RetraceWarning]
    assert f"{__file__}:" in str(caught[0].message) and "outside of the loop" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_functions_that_are_called_again_or_use_other_things_are_not_warned_about():
    def made(number):
        weight = rg.ones(3) * number
        return rg.jit(lambda x: x * weight)

    def scaled(number):
        return rg.jit(lambda x: x * number)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(COUNT):
            again = rg.jit(lambda x: x * 3)
            assert [again(X).tolist() for _ in range(2)] == [[3.0] * 3] * 2
            assert made(i)(X).numpy().tolist() == scaled(float(i))(X).tolist() == [i] * 3


LEAVES = {
    "grad at a tensor from outside": lambda w, points, array: rg.grad(lambda z: (z * z * w).sum())(points),
    "grad at an array from outside": lambda w, points, array: rg.grad(lambda z: (z * z * w).sum())(array),
    "grad at a new tensor": lambda w, points, array: rg.grad(lambda z: (z * z * w).sum())(rg.ones(3)),
    "a new leaf": lambda w, points, array: rg.tensor(array, requires_grad=True) * w,
    "a detached leaf": lambda w, points, array: points.detach().requires_grad_() * w,
}


@pytest.mark.parametrize("name", LEAVES)
def test_leaves_that_a_step_makes_itself_do_not_trace_it_anew(name):
    points, array = rg.tensor([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])

    def trained(compile):
        w = rg.tensor([1.0, 2.0, 3.0], requires_grad=True)
        optimizer = rg.optim.SGD([w], lr=0.01)

        @compile
        def step():
            optimizer.zero_grad()
            loss = (LEAVES[name](w, points, array) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        for _ in range(4):
            step()
        return w.detach().numpy(), step

    (got, step), (wanted, _) = trained(rg.jit), trained(lambda f: f)
    assert step.traces == 1
    np.testing.assert_allclose(got, wanted, rtol=1e-5)

"""Static arguments of jitted functions: by place or name, and what the function does not have is an error."""

import inspect
from functools import partial

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError

X = np.ones(3)


def scaled(x, factors, *, shift=(0,)):
    return x * factors[0] + shift[0]


def open_ended(x, *args, **kwargs):
    return x * sum(args) + sum(kwargs.values())


@pytest.mark.parametrize(("which", "told"), [
    ({"static_argnums": 2}, r"static_argnums has 2, and scaled takes 2 arguments by place \(x, factors\)"),
    ({"static_argnums": (0, -3)}, r"static_argnums has -3"),
    ({"static_argnums": "factors"}, r"got 'factors'; for names there is static_argnames"),
    ({"static_argnums": 1.0}, r"one integer or several, got 1\.0"),
    ({"static_argnames": "factor"}, r"has 'factor', and scaled has no argument of that name; it has x, factors, shift"),
    ({"static_argnames": ("factors", "shifts")}, r"has 'shifts'"),
])
def test_what_the_function_does_not_have_is_an_error_at_decoration(which, told):
    with pytest.raises(ArgumentError, match=told):
        rg.jit(scaled, **which)


def test_places_count_from_the_end_if_negative_and_names_reach_keywords():
    assert rg.jit(scaled, static_argnums=-1)(X, (2,)).tolist() == [2.0] * 3
    assert rg.jit(scaled, static_argnums=1, static_argnames="shift")(X, (2,), shift=(5,)).tolist() == [7.0] * 3


def test_functions_that_take_any_arguments_take_any_place_and_name():
    function = rg.jit(open_ended, static_argnums=(1, 2), static_argnames="whatever")
    assert function(X, 2, 3, whatever=4).tolist() == [9.0] * 3
    with pytest.raises(ArgumentError, match="has -3"):
        rg.jit(open_ended, static_argnums=-3)


class Scaler:
    """Methods whose static argument is named by its place after `self`."""

    @rg.jit(static_argnums=1)
    def good(self, x, factors):
        return x * factors[0]

    @rg.jit(static_argnums=2)
    def bad(self, x, factors):
        return x * factors[0]


def test_places_of_methods_do_not_count_self():
    assert Scaler().good(X, (3,)).tolist() == [3.0] * 3
    with pytest.raises(ArgumentError, match=r"has 2, and bad takes 2 arguments by place \(x, factors\)"):
        Scaler().bad(X, (3,))


def test_the_signature_is_read_once_for_a_function_and_once_for_its_methods(monkeypatch):
    class Scaled:
        """Has a method that is compiled."""

        @partial(rg.jit, static_argnums=1)
        def times(self, x, n):
            return x * n

    plain, scaled = rg.jit(lambda x, n: x * n, static_argnums=-1), Scaled()
    assert (plain(rg.ones(1), 3).item(), scaled.times(rg.ones(1), 3).item()) == (3.0, 3.0)
    monkeypatch.setattr(inspect, "signature", None)
    assert (plain(rg.ones(1), 3).item(), scaled.times(rg.ones(1), 3).item()) == (3.0, 3.0)

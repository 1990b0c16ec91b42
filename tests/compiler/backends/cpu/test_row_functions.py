"""Functions of rows: what a function does with each row of any array is told from two traces, or refused."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu.row_functions import FLAT, GROUPS, ROWS, UnknownRowsError, row_graph
from retrograde.compiler.index.rows import CHANNEL, FULL, PLACE, ROW, Call, Fold, Size
from retrograde.core.symbol import Symbol


def _graph(function, *arguments, form=ROWS, dtype=np.float64):
    """The graph of a function of arguments, each given for the shapes of a trace: an array by the name of its shape, or a number."""
    def argument(given, shapes):
        return Symbol(None, (), getattr(shapes, given), np.dtype(dtype)) if isinstance(given, str) else given(shapes)

    return row_graph(function, lambda shapes: [argument(given, shapes) for given in arguments], form)


def _factor(number, form=ROWS):
    """What the factor of a product is known as, a number of the shapes of a trace."""
    (found,) = [value for value in _graph(lambda x, n: x * n, "full", number, form=form).values if isinstance(value, Call)]
    return found.arguments[1]


SIZES = {
    "a length": (lambda s: s.full[-1], Size(True, 0, False)), "three more": (lambda s: s.full[-1] + 3, Size(True, 3, False)),
    "three less": (lambda s: s.full[-1] - 3, Size(True, -3, False)), "a number of rows": (lambda s: s.full[0], Size(False, 0, False)),
    "one over a length": (lambda s: 1 / s.full[-1], Size(True, 0, True)), "one over one less": (lambda s: 1 / (s.full[-1] - 1), Size(True, -1, True)),
    "one over a number of rows": (lambda s: 1 / s.full[0], Size(False, 0, True)),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_number_that_depends_on_sizes_is_known_as_what_it_is(name):
    number, size = SIZES[name]
    assert _factor(number) == ("size", size)


def test_a_number_that_does_not_depend_on_sizes_is_known_as_it_is():
    assert _factor(lambda _: 2.5) == ("number", 2.5)
    assert np.isnan(_factor(lambda _: np.nan)[1])


@pytest.mark.parametrize("number", [
    lambda s: s.full[-1] + 4, lambda s: s.full[-1] - 4, lambda s: s.full[-1] + 0.5, lambda s: s.full[-1] * 2, lambda s: s.full[-1] - s.full[-1] % 10,
    lambda s: 1 / (s.full[-1] + 1), lambda s: 1 / (s.full[-1] - 2), lambda s: 2 / s.full[-1], lambda s: 1 / s.full[-1] if s.full[-1] == 2003 else 0.25,
    lambda s: 0.25 if s.full[-1] == 2003 else 1 / s.full[-1]])
def test_other_numbers_that_depend_on_sizes_are_refused(number):
    with pytest.raises(UnknownRowsError):
        _factor(number)


#: A function of arrays of some shapes, and where its results have a number.
FUNCTIONS = {
    "each element": (lambda x: rg.sin(x), ["full"], ROWS, [FULL]), "each row": (lambda x: x.sum(-1), ["full"], ROWS, [ROW]),
    "a row kept": (lambda x: x.sum(-1, keepdims=True), ["full"], ROWS, [ROW]), "places": (lambda x, w: x * w, ["full", "place"], ROWS, [FULL]),
    "places summed": (lambda x: x.sum(0), ["full"], ROWS, [PLACE]), "both": (lambda x: (x - x.mean(-1, keepdims=True), x.max(-1)), ["full"], ROWS, [FULL, ROW]),
    "all": (lambda x: rg.exp(x).sum(), ["full"], FLAT, [ROW]), "channels": (lambda x, w: x * w, ["full", "channel"], GROUPS, [FULL]),
    "channels summed": (lambda x: x.sum((0, 3)), ["full"], GROUPS, [CHANNEL]),
    "groups": (lambda x: x.sum((2, 3)), ["full"], GROUPS, [ROW]), "rows repeated": (lambda x, m: x - m, ["full", "kept"], ROWS, [FULL]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_have_a_number_for_each_element_row_place_or_channel(name):
    function, arguments, form, spaces = FUNCTIONS[name]
    assert [space for _, space, _ in _graph(function, *arguments, form=form).results] == spaces


#: What is no function of rows.
OTHERS = {
    "sorted": (lambda x: rg.sort(x, -1), ["full"]), "running": (lambda x: rg.cumsum(x, -1), ["full"]), "turned": (lambda x: x.T, ["full"]),
    "parts": (lambda x: x[:, 1:], ["full"]), "a product": (lambda x: x @ x.T, ["full"]), "a place alone": (lambda w: w * 2, ["place"]),
    "a sum of rows read again": (lambda x: x - x.sum(0), ["full"]), "nothing": (lambda x: None, ["full"]), "a number": (lambda x: 2.0, ["full"]),
    "another length": (lambda x: rg.concatenate([x, x], -1), ["full"]), "a sum over all of rows": (lambda x: x.sum(), ["full"]),
    "other results": (lambda x: (x, x) if x.shape[0] == 1009 else x, ["full"]), "other ops": (lambda x: rg.sin(x) if x.shape[0] == 1009 else rg.cos(x), ["full"]),
    "as many as rows": (lambda x: (x + rg.zeros((x.shape[0], 1))) if x.shape[0] == 1009 else x, ["full"]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_something_else_with_rows_is_refused(name):
    function, arguments = OTHERS[name]
    with pytest.raises(UnknownRowsError):
        _graph(function, *arguments)


def test_a_reduction_is_a_fold_of_what_it_reduces():
    folds = [value for value in _graph(lambda x: x.max(-1), "full").values if isinstance(value, Fold)]
    assert folds == [Fold("max", ROW, 0, "float64")]

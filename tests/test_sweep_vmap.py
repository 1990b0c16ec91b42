"""The sweep of vmap: every op on all examples gives what a loop gives, of floats, integers and equal numbers, and so its derivative."""

from itertools import combinations

import numpy as np
import pytest

import retrograde as rg
from sweeping import Case, cases, results

COUNT = 3
NAMES = rg.ops.names()


def _is_whole(x):
    """Whether an argument is an array of integers or booleans."""
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "iub"


def _has_floats(name):
    return any(case.operands(case.drawn(np.float64)[0]) for case in cases(rg.ops.get(name)))


def _has_integers(name):
    return any(map(_is_whole, [x for case in cases(rg.ops.get(name)) for x in rg.tree.leaves(case.drawn(np.float64)[0])]))


#: Ops of states or of integers alone have no operand of floats.
OF_FLOATS, OF_INTEGERS = [name for name in NAMES if _has_floats(name)], [name for name in NAMES if _has_integers(name)]


def _examples(case):
    """The operands of `COUNT` calls of an op that differ in their numbers."""
    drawn = [Case(case.op, case.words, case.seed + 1000 * k).drawn(np.float64)[0] for k in range(COUNT)]
    return [case.operands(args) for args in drawn]


def _choices(count):
    """Which operands have examples: each alone, and all."""
    return {tuple(range(count)), *combinations(range(count), 1)} - {()}


def _function(case):
    args, kwargs = case.drawn(np.float64)
    return lambda *operands: tuple(results(case.op.call(*case.rebuilt(args, operands), **kwargs)))


def _check(function, rows, chosen, what, errors=()):
    """All of `rows` at once, of which the `chosen` operands have examples, give what `function` gives of each; or one of `errors`, if
    that does.
    """
    mixed = [[row[i] if i in chosen else rows[0][i] for i in range(len(row))] for row in rows]
    given = [np.stack([row[i] for row in mixed]) if i in chosen else mixed[0][i] for i in range(len(rows[0]))]
    of_all = rg.vmap(function, tuple(0 if i in chosen else None for i in range(len(given))))
    try:
        wanted = [function(*map(rg.asarray, row)) for row in mixed]
    except errors as error:
        with pytest.raises(type(error)):
            of_all(*given)
        return
    for found, parts in zip(of_all(*given), zip(*wanted, strict=True), strict=True):
        found, right = np.asarray(found), np.stack([np.asarray(part) for part in parts])
        assert (found.shape, found.dtype) == (right.shape, right.dtype), f"{what}, examples of operands {chosen}"
        np.testing.assert_allclose(found, right, rtol=1e-10, atol=1e-10, err_msg=f"{what}, examples of operands {chosen}")


def test_every_op_is_swept():
    assert {*OF_FLOATS, *OF_INTEGERS} == {*NAMES}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_FLOATS)
def test_every_op_on_all_examples_gives_what_a_loop_gives(name):
    for case in cases(rg.ops.get(name)):
        rows = _examples(case)
        if len({tuple(x.shape for x in row) for row in rows}) > 1:
            continue
        for chosen in _choices(len(rows[0])):
            _check(_function(case), rows, chosen, case)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_INTEGERS)
def test_so_it_does_of_examples_of_its_positions_labels_and_masks(name):
    for case in cases(rg.ops.get(name)):
        args, kwargs = case.drawn(np.float64)
        leaves, build = rg.tree.flatten(args)
        places = [i for i, x in enumerate(leaves) if _is_whole(x)]

        def function(*whole, leaves=leaves, build=build, places=places, kwargs=kwargs):
            given = dict(zip(places, whole, strict=True))
            return tuple(results(case.op.call(*build([given.get(i, x) for i, x in enumerate(leaves)]), **kwargs)))

        # In another order, numbers are still positions of something.
        rows = [[np.roll(np.ravel(leaves[i]), shift).reshape(np.shape(leaves[i])) for i in places] for shift in range(COUNT)]
        for chosen in _choices(len(places)):
            _check(function, rows, chosen, case)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_FLOATS)
def test_so_it_does_of_examples_of_few_integers_many_of_which_are_equal(name):
    for case in cases(rg.ops.get(name)):
        rows = [[np.abs(np.round(np.real(x))).astype(np.int64) for x in row] for row in _examples(case)[:2]]
        if len({tuple(x.shape for x in row) for row in rows}) == 1 and rows[0]:
            _check(_function(case), rows, range(len(rows[0])), case, (ArithmeticError, TypeError, ValueError))


def _weighed(parts):
    """A number that depends on all elements of the floats among `parts`."""
    return sum([(x * np.cos(1.0 + np.arange(x.size)).reshape(x.shape)).sum() for x in parts if x.dtype.kind == "f"], 0.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in OF_FLOATS if rg.ops.get(name).is_differentiable])
def test_every_op_has_its_derivative_around_a_vmap(name):
    for case in cases(rg.ops.get(name)):
        operands, function = case.operands(case.drawn(np.float64)[0]), _function(case)
        if not all(x.size for x in operands) or not any(x.dtype.kind == "f" for x in function(*map(rg.asarray, operands))):
            continue
        for chosen in ((0,), tuple(range(len(operands)))):
            axes = tuple(0 if i in chosen else None for i in range(len(operands)))
            given = [np.stack([x, x * 1.001]) if i in chosen else x for i, x in enumerate(operands)]
            by_vmap = lambda *args, axes=axes: (rg.vmap(lambda *row: _weighed(function(*row)), axes)(*args) ** 2).sum()
            by_loop = lambda *args, chosen=chosen: sum(
                _weighed(function(*[x[k] if i in chosen else x for i, x in enumerate(args)])) ** 2 for k in range(2))
            numbers = tuple(range(len(given)))
            for found, wanted in zip(rg.grad(by_vmap, numbers)(*given), rg.grad(by_loop, numbers)(*given), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8, err_msg=f"{case}, examples of operands {chosen}")

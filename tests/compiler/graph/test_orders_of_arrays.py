"""Orders of arrays: what the strides of an eager result will be is known from those of its operands, or known to be unknown."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.calls.pending import leaf_of
from retrograde.compiler.graph.orders import in_order, is_alike, orders, written_over
from retrograde.core.symbol import Symbol, ordered
from retrograde.errors import InplaceError, RetrogradeError
from retrograde.ops._arrays import arrays
from tests.graphs import called, leaf, traced

_ROWS = np.arange(24.0).reshape(2, 3, 4)
_LARGE = np.linspace(0.1, 0.9, 2400).reshape(40, 60)
#: Arrays of all kinds of layouts, by what is said of them.
ARRAYS = {
    "rows": _ROWS, "turned": _ROWS.T, "some axes turned": _ROWS.transpose(1, 0, 2), "every other": np.arange(48.0).reshape(2, 3, 8)[..., ::2],
    "from the end": _ROWS[:, ::-1], "repeated": np.broadcast_to(np.arange(3.0)[:, None], (2, 3, 4)),
    "repeated and turned": np.broadcast_to(np.arange(3.0)[:, None], (2, 3, 4)).T, "one axis": np.arange(6.0)[::2], "a number": np.array(0.5),
    "large": _LARGE, "large and turned": _LARGE.T, "large and repeated": np.broadcast_to(_LARGE[:1], (40, 60)).T, "empty": np.empty((0, 3)).T,
}


def _op(name, *rest):
    return lambda x: called(name, x, *rest)


#: What is made of one array, by ops whose results lie as NumPy leaves them.
MADE = {
    "itself": lambda x: x, "negative": _op("negative"), "tanh": _op("tanh"), "exp, large ones by a kernel": _op("exp"), "twice": _op("multiply", 2.0),
    "sum of two": lambda x: called("add", x, called("negative", x)), "of a copy in rows": lambda x: called("add", x, called("contiguous", x)),
    "choice": lambda x: called("where", called("greater", x, 0.3), x, 0.25), "astype": _op("astype", np.dtype("float32")),
    "contiguous": _op("contiguous"), "transpose": _op("transpose", -2, -1), "reshape": _op("reshape", (-1,)),
    "a row in front": _op("expand_dims", 0), "some": _op("getitem", (Ellipsis, slice(None, None, 2))), "first": _op("getitem", (0,)),
    "rows by a list": _op("getitem", (np.array([0, 0, 1]),)), "columns by a list": _op("getitem", (Ellipsis, np.array([0, 1, 0]))),
    "turned, then negative": lambda x: called("negative", called("transpose", x, -2, -1)), "isfinite": _op("isfinite"),
    "two layouts": lambda x: called("multiply", x, called("contiguous", x)), "running": _op("cumsum", 0), "sum": _op("sum", -1),
    "power of two layouts": lambda x: called("power", x, called("contiguous", x)), "soft": _op("softmax", -1), "joined": lambda x: called("concatenate", [x, x]),
    "sorted": _op("sort", -1), "copy sorted": lambda x: called("negative", called("sort", x, -1)), "of a list, sorted": lambda x: called("getitem", called("sort", x, 0), (np.array([0]),)),
    "order": _op("argsort", -1), "product": lambda x: called("matmul", x, called("transpose", x, -2, -1)),
    "power of a row": lambda x: called("power", x, called("getitem", x, (slice(0, 1),))),
    "cast of sorted": lambda x: called("astype", called("sort", x, 0), np.dtype("float32")), "sign": _op("sign"), "clipped": _op("clip", 0.2, 0.8),
}
#: Those of which it is not known for arrays that do not lie in rows, and those of which it never is.
UNKNOWN_UNLESS_ROWS = {"joined", "sum", "soft"}
UNKNOWN = {"sorted", "copy sorted", "cast of sorted", "of a list, sorted", "order"}


def _eager(node):
    """The value of a node by eager ops."""
    if node.op is None:
        return arrays.made(node.array)
    change = lambda a: _eager(a) if isinstance(a, Symbol) else [change(b) for b in a] if isinstance(a, list) else a
    return node.op.call(*map(change, node.args))


def _lies_in(array):
    """The steps between elements along axes of several."""
    return [step for step, n in zip(array.strides, array.shape, strict=True) if n > 1 and array.size]


@pytest.mark.parametrize("made", MADE)
def test_strides_are_those_of_eager_mode_or_are_known_to_be_unknown(made):
    for name, array in ARRAYS.items():
        try:
            node = MADE[made](leaf_of(array))
        except (RetrogradeError, ValueError, IndexError):  # for arrays with more axes, or with elements
            continue
        has_order = sum([n > 1 for n in node.shape]) > 1
        is_unknown = has_order and (made in UNKNOWN or (made in UNKNOWN_UNLESS_ROWS and not array.flags.c_contiguous)
                                    or (made == "product" and node.ndim > 2))  # of two matrices NumPy makes rows
        try:
            found = in_order(node)
        except InplaceError:
            assert is_unknown, name
            continue
        assert not is_unknown, name
        with np.errstate(all="ignore"):
            wanted = _eager(node).data
        assert (found.shape, found.dtype, _lies_in(found)) == (wanted.shape, wanted.dtype, _lies_in(wanted)), name


def test_it_is_unknown_of_what_is_chosen_from_or_shown_of_a_constant():
    for node in (called("getitem", _ROWS, (leaf(2, 2, dtype=np.int64),)), called("transpose", _ROWS, 0, 1)):
        with pytest.raises(InplaceError):
            in_order(node)


def _known(symbols):
    """By place, what `orders` gives of some symbols: their strides, or None."""
    found = orders(symbols, ordered(symbols))
    return {i: None if found[node] is None else found[node].strides for i, node in enumerate(symbols) if node in found}


def test_nothing_is_asked_where_all_is_sure_to_lie_in_rows():
    x = leaf_of(_ROWS)
    line = called("sort", called("reshape", x, (-1,)), 0)
    sure = [called("negative", x), called("reshape", x, (6, 4)), called("squeeze", called("expand_dims", x, 0), 0),
            called("multiply", called("expand_dims", line, 1), line), called("contiguous", x)]
    assert _known([x, *sure]) == {}
    turned = leaf_of(ARRAYS["turned"])
    assert _known([called("sum", turned, None), called("reshape", turned, (-1,))]) == {}  # no two axes
    assert orders([leaf(3), leaf()], None) == {}  # then no other node is looked at


def test_orders_of_all_are_told_where_one_may_lie_otherwise():
    x, wanted = leaf_of(_ROWS), _ROWS.strides
    unknown = leaf_of(_ROWS.copy())
    unknown.order = None
    written = called("negative", x)
    written_over(written, x)
    for other, strides in ((called("transpose", x, 0, 2), _ROWS.T.strides), (called("sort", x, 0), None), (leaf_of(ARRAYS["turned"]), _ROWS.T.strides),
                           (unknown, None), (written, wanted), (called("broadcast_to", called("getitem", x, (0,)), (2, 3, 4)), (0, 32, 8)),
                           (Symbol(rg.ops.get("contract"), ([x], "abc->cba"), (4, 3, 2), x.dtype), None)):
        line = called("reshape", x, (-1,))
        assert _known([x, line, other]) == {0: wanted, 2: strides}


def test_results_of_an_op_of_several_lie_in_an_order_that_is_not_known():
    values, vectors = traced(rg.linalg.eigh, leaf_of(np.eye(3)))
    assert _known([values, vectors]) == {1: None}
    assert in_order(values).shape == (3,)


def test_what_is_written_in_place_lies_where_it_was():
    old, number = leaf_of(ARRAYS["turned"]), leaf_of(np.array(2.0))
    for new in (called("multiply", old, 2.0), called("broadcast_to", number, old.shape)):
        written_over(new, old)
        assert new.over == ((old,), True)
        assert _lies_in(in_order(new)) == _lies_in(ARRAYS["turned"])
    newer = called("negative", new)
    written_over(newer, new)
    assert newer.over == ((old,), True)  # not what was there in between
    assert _lies_in(in_order(newer)) == _lies_in(ARRAYS["turned"])


def test_a_value_that_is_written_to_several_places_lies_in_a_known_order_where_all_agree():
    turned, rows = ARRAYS["turned"], ARRAYS["turned"].copy()
    for own, others, is_known in ((turned, [turned, turned], True), (turned, [turned, rows], False), (rows, [turned, turned], False), (rows, [turned], False),
                                  (rows, [rows.copy()], True)):
        new, olds = called("negative", leaf_of(own)), [leaf_of(other.copy(order="K")) for other in others]
        for old in olds:
            written_over(new, old)
        assert new.over == (tuple(olds), False)
        if is_known:
            assert _lies_in(in_order(new)) == _lies_in(own)
        else:
            with pytest.raises(InplaceError):
                in_order(new)


def test_what_is_made_of_two_values_and_written_to_both_is_no_value_of_one_alone():
    one, other = leaf_of(ARRAYS["turned"]), leaf_of(ARRAYS["turned"].copy(order="K"))
    new = called("add", one, other)
    written_over(new, one)
    assert new.over == ((one,), True)
    written_over(new, other)
    assert new.over == ((one, other), False)
    written_over(one, other)
    assert one.over == ((other,), False)


def test_what_is_written_over_something_of_unknown_order_is_of_unknown_order():
    old = called("sort", leaf_of(_ROWS), 0)
    new = called("multiply", old, 2.0)
    written_over(new, old)
    unrelated = called("negative", leaf_of(_ROWS.copy()))
    written_over(unrelated, old)
    for node in (new, unrelated):
        with pytest.raises(InplaceError):
            in_order(node)


def test_nothing_is_noted_of_what_is_no_node_or_has_no_axes_to_order():
    old, line = leaf(2, 3), leaf(3)
    several = Symbol(rg.ops.get("eigh_pair"), (leaf(2, 2), "L"), None, None)
    for new in (line, several, old):
        written_over(new, old)
        assert not hasattr(new, "over")
    written_over(_ROWS, old)


def test_the_inputs_that_count_are_those_with_rows():
    x, line, number, asked = leaf(2, 3), leaf(3), leaf(), set()
    in_order(called("add", called("multiply", x, line), number), asked)
    assert asked == {x}


def test_arrays_lie_alike_where_the_steps_along_axes_of_several_are_the_same():
    assert is_alike(np.empty((2, 1, 3)), np.empty((3, 2, 1)).transpose(1, 2, 0)) is False
    assert is_alike(np.empty((2, 1, 3)), np.empty((1, 2, 3)).transpose(1, 0, 2))
    assert is_alike(np.empty((0, 3, 4)), np.empty((0, 4, 3)).transpose(0, 2, 1))
    assert not is_alike(np.empty((2, 2)), np.empty((2, 2)).T)

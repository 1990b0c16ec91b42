"""tile: steps over the same rows become nests, unless they meet what belongs to another row."""

import pytest

from graphs import called, draft_of, leaf, names


def softmax(x):
    powers = called("exp", called("subtract", x, called("max", x, axis=1, keepdims=True)))
    return called("divide", powers, called("sum", powers, axis=1, keepdims=True))


def nests_of(*results):
    """The nests of a graph, each as the names of what its steps store, and the draft."""
    draft = draft_of(results)
    nests = dict.fromkeys([step.nest for step in draft.schedule.steps if step.nest is not None])
    return [[name for step in nest.steps for name in names(step.roots)] for nest in nests], draft


def test_the_passes_of_a_softmax_are_one_nest_of_all_rows_with_its_values_in_a_frame():
    found, draft = nests_of(softmax(leaf(512, 256)))
    (nest,) = {step.nest for step in draft.schedule.steps}
    assert found == [["max", "sum", "exp", "divide"]] or sorted(found[0]) == ["divide", "exp", "max", "sum"]
    assert nest.rows == 512
    assert {node.op.name for node in nest.local} == {"max", "sum", "exp"}
    assert nest.frame >= nest.block * 256 * 4
    assert not {node for node in nest.local if node in draft.room((), draft.local).places}


def test_a_small_program_finds_everything_in_cache_as_it_is():
    assert nests_of(softmax(leaf(16, 16)))[0] == []


def test_what_is_asked_for_is_not_local():
    x = leaf(512, 256)
    powers = called("exp", called("subtract", x, called("max", x, axis=1, keepdims=True)))
    _, draft = nests_of(called("divide", powers, called("sum", powers, axis=1, keepdims=True)), powers)
    (nest,) = {step.nest for step in draft.schedule.steps}
    assert draft.outputs[1] not in nest.local


@pytest.mark.parametrize("rows", [256, 512])
def test_a_sum_of_all_rows_that_is_read_row_by_row_is_complete_first(rows):
    x = leaf(rows, 256)
    total = called("sum", x, axis=0)  # one number for each of as many columns as there may be rows
    if rows == 512:
        total = called("concatenate", (total, total))
    found, draft = nests_of(called("subtract", x, called("expand_dims", total, axis=1)))
    assert found == []
    assert [step.nest for step in draft.schedule.steps] == [None] * len(draft.schedule.steps)


def test_what_meets_the_row_before_is_not_in_one_nest_with_it():
    x = leaf(512, 256)
    total = called("sum", called("exp", x), axis=1, keepdims=True)
    found, _ = nests_of(called("multiply", x, called("flip", total, axis=0)))
    assert found == []


def test_a_product_by_a_small_matrix_goes_over_the_rows_with_what_comes_after_it():
    x, w = leaf(2048, 64), leaf(64, 64)
    found, _ = nests_of(softmax(called("matmul", x, w)))
    assert len(found) == 1
    assert found[0][0] == "matmul" and len(found[0]) == 5


def test_the_steps_of_a_nest_stand_beside_each_other_in_an_order_that_can_be_run():
    x, y = leaf(512, 256), leaf(512, 256)
    _, draft = nests_of(softmax(x), softmax(y), called("matmul", x, called("permute_dims", y, (1, 0))))
    made, closed, before = set(), set(), None
    for step in draft.schedule.steps:
        assert all(n.op is None or n in made for n in draft.schedule.read_by(step))
        made.update(step.roots)
        assert step.nest is None or step.nest not in closed
        closed |= {before} if before is not None and before is not step.nest else set()
        before = step.nest

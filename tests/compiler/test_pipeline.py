"""pipeline: one list of passes for programs and for the bodies of loops and branches, whose kernels are the same."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.compiler import pipeline
from retrograde.compiler.run.program import Graph
from retrograde.core.symbol import Symbol

F = nn.functional
ROWS, WIDTH = 512, 128


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


WEIGHT = numbers(WIDTH, WIDTH, seed=1) / 12


def attention(x):
    heads = rg.permute_dims(x.reshape((2, ROWS // 2, 4, WIDTH // 4)), (0, 2, 1, 3))
    found = F.scaled_dot_product_attention(heads, heads, heads)
    return rg.permute_dims(found, (0, 2, 1, 3)).reshape((ROWS, WIDTH))


FUNCTIONS = {
    "softmax": lambda x: F.softmax(x, dim=-1),
    "layer norm": lambda x: F.layer_norm(x, (WIDTH,)),
    "attention": attention,
    "a product with an epilogue": lambda x: F.gelu(x @ WEIGHT + 1),
}
FORMS = {
    "scan": lambda f: lambda x: rg.scan(lambda c, row: (f(c), row), x, np.zeros(3, np.float32))[0],
    "while_loop": lambda f: lambda x: rg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (rg.tensor(0), x))[1],
    "cond": lambda f: lambda x: rg.cond(x[0, 0] < 1e30, lambda: f(x), lambda: x),
}
ITERATIONS = {"scan": 3, "while_loop": 3, "cond": 1}


def units(kernels):
    """The units of machine code that the kernels run, each once, but for what packs the operands of others."""
    names = [(kernel.kind, unit.name) for kernel in kernels for unit in kernel.units if kernel.kind != "pack"]
    return set(names)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_runs_in_a_loop_or_a_branch_runs_as_the_same_kernels_with_the_same_numbers_as_outside(name, form):
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    function, x = FUNCTIONS[name], numbers(ROWS, WIDTH)
    outside, inside, wanted = rg.jit(function), rg.jit(FORMS[form](function)), x
    for _ in range(ITERATIONS[form]):
        wanted = outside(wanted)
    np.testing.assert_array_equal(inside(x), wanted)
    bodies = [kernel.inside for kernel in inside.explain().kernels if kernel.kind == "repeat"]
    alone = units(outside.explain().kernels)
    assert alone
    assert alone <= units(bodies[0]), "the kernels differ"


def test_softmax_in_a_loop_needs_no_memory_but_that_of_what_is_carried():
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    x = numbers(1024, 256)
    step = rg.jit(FORMS["scan"](FUNCTIONS["softmax"]))
    step(x)
    assert step.explain().arena_bytes < 2.1 * x.nbytes


def test_a_matrix_that_changes_from_iteration_to_iteration_is_packed_anew():
    def function(x, matrices):
        return rg.scan(lambda c, w: (F.softmax(c @ w, dim=-1), None), x, matrices)[0]

    x, matrices = numbers(ROWS, WIDTH), numbers(4, WIDTH, WIDTH, seed=2)
    wanted = x
    for w in matrices:
        wanted = F.softmax(rg.tensor(wanted) @ w, dim=-1)
    np.testing.assert_allclose(rg.jit(function)(x, matrices), wanted, rtol=1e-4, atol=1e-6)


def test_a_branch_chosen_by_a_sum_of_all_rows_is_compiled():
    # The search for what waits for the sum went round in the step of the branch, whose results that step picks itself.
    x = numbers(256, 256)
    step = rg.jit(lambda x: rg.cond(x.sum() > -1e30, lambda: F.softmax(x, dim=-1), lambda: x))
    np.testing.assert_allclose(step(x), F.softmax(rg.tensor(x), dim=-1), rtol=1e-5)


def leaf(*shape):
    return Symbol(None, (), shape, np.dtype(np.float32))


def test_passes_are_run_in_the_order_of_the_list_and_shown_by_their_names():
    x, seen = leaf(4, 3), []
    pipeline.planned(Graph([x], [], [x], [], []), lambda name, draft: seen.append(name))
    assert seen == ["trace", *[name for name, _ in pipeline.PASSES]]


def test_explain_shows_the_graph_after_each_pass_with_what_changed_also_in_the_bodies_of_loops():
    state = rg.tensor(np.zeros(256, np.float32))

    @rg.jit
    def step(x):
        state[...] = state * 0.9 + x.sum(axis=0)
        return rg.scan(lambda c, _: (F.softmax(c, dim=-1), None), x, length=3)[0]

    step(numbers(512, 256))
    stages = {stage.name: stage for stage in step.explain(passes=True).passes}
    names = ["trace", *[name for name, _ in pipeline.PASSES]]
    assert [*stages] == [*names, *[f"body of loop 0: {name}" for name in names]]
    changed = {name for name, stage in stages.items() if stage.changes}
    assert changed == {"trace", "lower", "fuse", "alias", *[f"body of loop 0: {name}" for name in ("trace", "lower", "fuse", "tile")]}
    assert any(" in %" in line for line in stages["alias"].lines if line.startswith("+ step loop over 256:"))
    assert len([line for line in stages["body of loop 0: tile"].lines if "in nest 0" in line]) == 3
    assert str(stages["rewrite"]) == "rewrite: nothing has changed"
    assert ["softmax" in "".join(stages[f"body of loop 0: {name}"].lines) for name in ("trace", "lower")] == [True, False]


def test_an_order_alone_is_a_change():
    count = rg.zeros(())

    @rg.jit
    def step(x, i):
        count[...] = count + 1
        return rg.take(x - x.sum(), i)  # may fail, after a sum

    step(np.ones(8), np.array([1]))
    assert {stage.name: stage.changes for stage in step.explain(passes=True).passes}["order"] == "in another order"


def test_explain_goes_through_all_nodes_a_fixed_number_of_times_however_many_kernels_there_are():
    class Counted(list):
        walks = 0

        def __iter__(self):
            Counted.walks += 1
            return super().__iter__()

    def deep(x):
        for _ in range(20):
            x = F.softmax(x, dim=-1).sum(axis=0) + x
        return x

    step = rg.jit(deep)
    step(numbers(40, 30))
    schedule = step._last_step().program.schedule
    schedule.nodes = Counted(schedule.nodes)
    assert len(step.explain().kernels) > 20
    assert Counted.walks <= 2

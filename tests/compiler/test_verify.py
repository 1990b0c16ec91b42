"""verify: a pass that leaves what must not be is an error which names the pass and the node."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import retrograde as rg
from graphs import called, draft_of, leaf
from retrograde.compiler import pipeline, verify, verify_setting
from retrograde.compiler.index import row_dependences
from retrograde.compiler.passes import memory
from retrograde.core.symbol import Outputs, Symbol
from retrograde.errors import VerifierError


@pytest.fixture(autouse=True)
def on(monkeypatch):
    monkeypatch.setenv(verify_setting.VARIABLE, "1")


def broken(monkeypatch, name, spoil):
    """Let a pass leave what `spoil(draft)` makes of what it leaves."""
    def run_of(known):
        def run(draft):
            known.run(draft)
            spoil(draft)
        return run

    passes = [p._replace(run=run_of(p)) if p.name == name else p for p in pipeline.PASSES]
    monkeypatch.setattr(pipeline, "PASSES", tuple(passes))


def softmax(x):
    powers = called("exp", called("subtract", x, called("max", x, axis=1, keepdims=True)))
    return called("divide", powers, called("sum", powers, axis=1, keepdims=True))


def with_another(change):
    """A spoiler that changes the first output to `change(node)`."""
    def spoil(draft):
        draft.outputs = Outputs([change(draft.outputs[0]), *draft.outputs[1:]])
    return spoil


def reversed_steps(draft):
    draft.schedule.steps.reverse()


def one_step_less(draft):
    del draft.schedule.steps[0]


def a_step_twice(draft):
    draft.schedule.steps.append(draft.schedule.steps[-1])


def in_a_frame(draft):
    nest = draft.schedule.steps[-1].nest
    nest.local[draft.outputs[0]] = 0


def torn_apart(draft):
    draft.schedule.steps[1:1] = [draft.schedule.steps.pop()]


@pytest.mark.parametrize(("name", "spoil", "told"), [
    ("lower", with_another(lambda node: Symbol(node.op, node.args, (9, 9), node.dtype)), r"the op gives float32\[256, 128\], at <divide float32\[9, 9\]>"),
    ("rewrite", with_another(lambda node: Symbol(node.op, node.args, node.shape, np.dtype(np.float64))), "the op gives float32"),
    ("rewrite", with_another(lambda node: called("add", node, leaf(128))), "a leaf that nobody hands in, at <input"),
    ("fuse", reversed_steps, "a step reads it, and none before that has made it, at <"),
    ("fuse", one_step_less, "none before that has made it, at <max"),
    ("rematerialise", a_step_twice, "two steps make it, at <"),
    ("order", torn_apart, "none before that has made it|stand apart"),
    ("tile", in_a_frame, "it is local to a nest, and is read when all is over, at <"),
])
def test_a_broken_pass_is_named_with_the_node(monkeypatch, name, spoil, told):
    draft_of([softmax(leaf(256, 128))])
    broken(monkeypatch, name, spoil)
    with pytest.raises(VerifierError, match=f"the pass '{name}' of the compiler is broken: .*({told})"):
        draft_of([softmax(leaf(256, 128))])


def test_a_frame_that_two_live_results_share_is_found(monkeypatch):
    def overlapping(draft):
        for step in draft.schedule.steps:
            step.nest.local = dict.fromkeys(step.nest.local, 0)

    broken(monkeypatch, "tile", overlapping)
    with pytest.raises(VerifierError, match=r"'tile' .* that of another live buffer"):
        draft_of([softmax(leaf(256, 128))])


def test_a_sum_of_all_rows_that_is_read_within_its_nest_is_found(monkeypatch):
    monkeypatch.setattr(row_dependences.RowFacts, "are_apart", lambda self, steps, rows, changing=(): True)
    x = leaf(256, 256)
    with pytest.raises(VerifierError, match=r"'tile' .* reads a sum of all rows before it is complete, at <sum"):
        draft_of([called("subtract", x, called("expand_dims", called("sum", x, axis=0), axis=1))])


def updated(*, is_read_late=False, is_risky=False):
    """A leaf that is updated by itself, and a result that reads it later, or a step after it that may fail."""
    p, x = leaf(32, 64), leaf(64, 64)
    node = called("multiply", p, 0.5)
    late = called("add", p, called("sum", called("matmul", node, x), axis=0)) if is_read_late else called("exp", x)
    taken = called("take", called("exp", x), leaf(3, dtype=np.int64), axis=0) if is_risky else late
    return [late, taken], [(p, node)]


def test_an_update_in_the_memory_of_a_leaf_that_is_read_later_is_found(monkeypatch):
    results, updates = updated(is_read_late=True)
    assert not draft_of(results, updates).aliases
    broken(monkeypatch, "alias", lambda draft: draft.aliases.update({node: leaf for leaf, node in draft.updates}))
    with pytest.raises(VerifierError, match=r"'alias' .* it overwrites a leaf that is still read, at <multiply"):
        draft_of(results, updates)


def updates_first(draft):
    node = draft.updates[0][1]
    draft.schedule.steps = sorted(draft.schedule.steps, key=lambda step: node not in step.roots)


def test_an_update_before_a_step_that_may_fail_is_found(monkeypatch):
    results, updates = updated(is_risky=True)
    assert draft_of(results, updates).aliases
    broken(monkeypatch, "order", updates_first)
    monkeypatch.setattr(pipeline, "computed_in_place", lambda schedule, updates, *_: {node: leaf for leaf, node in updates})
    with pytest.raises(VerifierError, match=r"'alias' .* it overwrites state before the last step that can fail, at <multiply"):
        draft_of(results, updates)


def test_two_nodes_in_the_memory_of_one_leaf_are_found(monkeypatch):
    p, x = leaf(8), leaf(8)
    results, updates = [called("exp", x)], [(p, called("add", p, x))]
    broken(monkeypatch, "alias", lambda draft: draft.aliases.update({draft.outputs[0]: p}))
    with pytest.raises(VerifierError, match=r"'alias' .* (two nodes have one leaf|a leaf that it does not update)"):
        draft_of(results, updates)


@pytest.mark.parametrize("fault", ["in one place", "forgotten", "too small"])
def test_memory_that_two_live_results_share_or_that_is_missing_is_found(monkeypatch, fault):
    x = leaf(64, 64)
    draft = draft_of([called("sum", called("matmul", called("matmul", x, x), called("matmul", x, called("exp", x))))])
    draft.layout()
    if fault == "in one place":
        spoil = lambda arena: arena.places.update(dict.fromkeys(arena.places, 0))
    elif fault == "forgotten":
        spoil = lambda arena: arena.places.popitem()
    else:
        spoil = lambda arena: setattr(arena, "size", arena.size // 2)
    known = memory.Arena.__init__

    def spoiled(arena, requests):
        known(arena, requests)
        spoil(arena)

    monkeypatch.setattr(memory.Arena, "__init__", spoiled)
    with pytest.raises(VerifierError, match=r"'memory' .* (another live buffer|0 places in memory|not in the block)"):
        draft.layout()


@pytest.mark.parametrize("seed", range(40))
def test_of_some_buffers_those_that_overlap_while_both_live_are_found(seed):
    generator = np.random.default_rng(seed)
    requests = []
    for name in "abcd":
        at, nbytes, first, length = (int(generator.integers(*bounds)) for bounds in ((-1, 300), (1, 100), (0, 9), (0, 3)))
        requests.append((at, nbytes, first, first + length, name))
    is_inside = all(at >= 0 and at + nbytes <= 320 for at, nbytes, *_ in requests)
    are_apart = all(a is b or a[0] + a[1] <= b[0] or b[0] + b[1] <= a[0] or a[3] < b[2] or b[3] < a[2] for a in requests for b in requests)
    if is_inside and are_apart:
        verify._check_apart(requests, 320)
    else:
        with pytest.raises(verify._Fault, match=r"another live buffer|not in the block"):
            verify._check_apart(requests, 320)


def test_a_result_whose_memory_is_used_again_is_found(monkeypatch):
    x = leaf(8, 8)
    nodes = [called("matmul", x, x)]
    for _ in range(3):
        nodes.append(called("matmul", nodes[-1], x))
    draft = draft_of([nodes[0], nodes[-1]])
    draft.layout()
    first, _, third, _ = [step.roots[0] for step in draft.schedule.steps]
    known = memory.Arena.__init__

    def spoiled(arena, requests):
        known(arena, requests)
        arena.places[third] = arena.places[first]

    monkeypatch.setattr(memory.Arena, "__init__", spoiled)
    with pytest.raises(VerifierError, match=r"'memory' .* another live buffer"):
        draft.layout()


@pytest.mark.parametrize(("other", "told"), [(leaf(4, 8), "its memory is that of another spec"), (leaf(8, 8), "of another spec"),
                                             (None, "it overwrites a leaf that is still read")])
def test_an_update_in_memory_that_is_not_for_it_is_found(monkeypatch, other, told):
    p = leaf(256, 128) if other is None else leaf(8, 8)
    node = called("subtract", p, called("max", p, axis=1, keepdims=True))  # one step of a nest reads what another one updates
    broken(monkeypatch, "alias", lambda draft: draft.aliases.update({draft.updates[0][1]: p if other is None else other}))
    with pytest.raises(VerifierError, match=rf"'alias' .* {told}"):
        draft_of([], [(p, node)])


def test_bodies_of_loops_are_verified(monkeypatch):
    def spoil(draft):
        if draft.body is not None:
            draft.schedule.steps.reverse()

    broken(monkeypatch, "fuse", spoil)
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    with pytest.raises(VerifierError, match=r"'fuse'"):
        rg.jit(lambda x: rg.scan(lambda c, _: (rg.exp(c - c.sum()) + np.arange(3.0) * 0.17, None), x, length=3)[0])(np.ones(3))


def test_without_the_variable_nothing_is_verified(monkeypatch):
    broken(monkeypatch, "alias", lambda draft: draft.aliases.update({draft.outputs[0]: next(iter(draft.leaves))}))
    with pytest.raises(VerifierError):
        draft_of([called("exp", leaf(8))])
    monkeypatch.delenv(verify_setting.VARIABLE)
    draft_of([called("exp", leaf(8))])




def test_a_program_that_an_earlier_process_has_stored_is_verified_too(monkeypatch, tmp_path):
    program = textwrap.dedent("""
        import numpy as np, retrograde as rg
        from retrograde.compiler.passes import fuse
        step = rg.jit(lambda x: (rg.exp(x - x.max(axis=1, keepdims=True)), (x * x).sum(axis=1)))
        step(np.ones((40, 30)))
    """)
    broken = program.replace("step = ", "old = fuse.Schedule._grouped; fuse.Schedule._grouped = lambda self: old(self)[::-1]\nstep = ")
    run = lambda text, verify: subprocess.run(
        [sys.executable, "-c", text], env={**os.environ, "RETROGRADE_CACHE_DIR": str(tmp_path), "RETROGRADE_VERIFY": verify},
        capture_output=True, text=True, check=False)
    assert run(program, "0").returncode == 0
    assert run(broken, "0").returncode == 0  # nothing is planned any more
    assert "VerifierError" in run(broken, "1").stderr

"""forms: steps that differ in nothing but their memory are planned once, and those that differ in anything else are not."""

from collections import Counter

import numpy as np
import pytest

import retrograde as rg
from graphs import called, leaf, schedule_of
from retrograde import nn
from retrograde.compiler import cost, kinds
from retrograde.compiler.backends.cpu.backend import BACKEND
from retrograde.compiler.backends.cpu.codegen import loop_plan, matmul
from retrograde.compiler.graph import infer
from retrograde.compiler.index.accesses import Accesses
from retrograde.compiler.index.expression import Apply
from retrograde.compiler.pipeline import planned
from retrograde.compiler.target import named
from retrograde.errors import RetrogradeError
from tests.compiler.snapshots.programs import PROGRAMS, of_seed
from tests.compiler.snapshots.telling import graph_of
from training_steps import training_step

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def _step_of(layers):
    """A training step of so many equal layers, as a graph."""
    rg.manual_seed(0)
    layer = lambda: nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True, activation="gelu")
    model = nn.Sequential(*[layer() for _ in range(layers)])
    optimizer = rg.optim.AdamW(model.parameters())
    return graph_of(training_step(optimizer, lambda x: (model(x) ** 2).sum()), [((4, 16, 32), "float32")])


#: What is done once for all steps, nodes and calls that are alike: where its function is found, and the name of that.
ONCE = {"loops": (Accesses, "_boxed"), "plans of loops": (loop_plan, "plan_loops"), "kinds": (kinds, "_kind"), "maps": (kinds, "index_map"),
        "products": (matmul, "choose"), "shapes": (infer, "_found")}


def _counts(layers, patch):
    """How often each of these is done for a step of so many layers, and how many steps it has."""
    counts = Counter()
    counted = lambda name, make: lambda *args: (counts.update([name]), make(*args))[1]
    with patch.context() as within:
        within.setattr(infer, "_KNOWN", {})
        within.setattr(cost, "MOST_RESULTS", 12)  # the parameters of a layer, so that no loop of counters is another one
        for name, (where, function) in ONCE.items():
            within.setattr(where, function, counted(name, getattr(where, function)))
        draft = planned(_step_of(layers))
        BACKEND.written(draft, named("x86-64-v3"))
    return counts, len(draft.schedule.steps)


@pytest.fixture(scope="module")
def counts():
    """The counts for a step of few layers and for one of twice as many."""
    return [_counts(layers, pytest.MonkeyPatch()) for layers in (3, 6)]


@pytest.mark.parametrize("name", ONCE)
def test_what_was_found_for_a_layer_is_not_found_again_for_the_others(name, counts):
    (few, some_steps), (many, more_steps) = counts
    assert more_steps > 1.8 * some_steps
    assert 0 < many[name] <= few[name]


def _entry(entry):
    """An entry without the node that stands for its op."""
    return (entry.node.op, entry.node.dtype, *entry[1:]) if isinstance(entry, Apply) else (entry.__class__, *_by_identity(entry))


def _by_identity(part):
    """A load or a store with the identity of its buffer, a constant of memory by its numbers: it may be copied."""
    buffer = getattr(part, "buffer", None)
    return [(f.shape, f.tobytes()) if isinstance(f, np.ndarray) else id(f) if f is buffer else repr(f) for f in part]


def _told(box):
    return box.lengths, box.is_reduced, list(map(_entry, box.entries)), list(map(_by_identity, box.stores))


def _check_boxes(graph):
    """Whether the loops of each step are what they are by themselves; how many steps there are, and how many forms."""
    draft = planned(graph)
    steps = [step for step in draft.schedule.steps if step.kernel.fuses]
    for step in steps:
        assert _told(draft.accesses.box(step)) == _told(draft.accesses._boxed(step))
    return len(steps), len({id(draft.accesses.form(step)[0]) for step in steps})


def test_loops_of_a_form_are_those_of_each_of_its_steps():
    steps, forms = _check_boxes(_step_of(3))
    assert steps > 1.5 * forms


@pytest.mark.parametrize("group", sorted(PROGRAMS))
def test_loops_of_forms_are_those_of_each_of_their_steps(group):
    for function, operands in list(PROGRAMS[group].values())[::3]:
        _check_boxes(graph_of(function.prepared() if hasattr(function, "prepared") else function, operands))


@pytest.mark.filterwarnings("ignore")
@np.errstate(all="ignore")
def test_loops_of_forms_in_drawn_programs_are_those_of_each_of_their_steps():
    for seed in range(0, 400, 40):
        for function, operands in of_seed(seed).values():
            try:
                _check_boxes(graph_of(function, operands))
            except (RetrogradeError, ArithmeticError, TypeError, ValueError):  # as of a derivative that there is not
                continue


def _forms(*outputs):
    """The forms of the steps that compute some nodes, in their order."""
    schedule = schedule_of(*outputs)
    accesses = Accesses(schedule)
    return [accesses.form(step)[0] for root in outputs for step in schedule.steps if root in step.roots]


TABLES = [np.arange(12.0, dtype=np.float32).reshape(3, 4) + i for i in range(2)]
TABLES[1][...] = TABLES[0]
#: A result of each of two matrices, whose passes compute something else, or meet memory in another way.
DIFFERENT = {
    "an op": lambda x, y: (called("sin", x), called("exp", y)),
    "the order of operands": lambda x, y: (called("subtract", called("sin", x), x), called("subtract", y, called("sin", y))),
    "an operand that is met twice": lambda x, y: (called("multiply", x, x), called("multiply", y, leaf(3, 4))),
    "a number": lambda x, y: (called("multiply", x, 3.0), called("multiply", y, 4.0)),
    "the sign of zero": lambda x, y: (called("copysign", x, 0.0), called("copysign", y, -0.0)),
    "a place": lambda x, y: (called("shrink", x, [(0, 2), (0, 4)]), called("shrink", y, [(1, 3), (0, 4)])),
    "constants in memory": lambda x, y: (called("add", x, TABLES[0]), called("add", y, TABLES[1])),
}


def _operands():
    """Two matrices, of which one is made by a pass, so that what is computed of them is no pass of both."""
    return leaf(3, 4), called("matmul", leaf(3, 5), leaf(5, 4))


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_in_one_thing_has_a_form_of_its_own(name):
    first, second = _forms(*DIFFERENT[name](*_operands()))
    assert first is not second


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_differs_in_nothing_has_one_form(name):
    x, y = _operands()
    first, second = _forms(DIFFERENT[name](x, x)[0], DIFFERENT[name](y, y)[0])
    assert first is second


def test_results_of_one_pass_and_of_two_are_different_forms():
    x, y = leaf(3, 4), leaf(3, 4)
    inner, alone = called("sin", x), called("exp", called("sin", y))
    (both, _), (other,) = _forms(called("exp", inner), inner), _forms(alone)
    assert len(both.buffers) == 3 and len(other.buffers) == 2


def test_buffers_that_are_one_memory_have_a_form_in_which_they_are_one():
    x, y = leaf(3, 4), leaf(3, 4)
    form, = _forms(called("add", x, y))
    joined = form.joined((x, x, y))
    assert len({id(b) for b in joined.buffers}) == 2 and joined is form.joined((y, y, x)) and joined is not form
    assert form.joined(form.buffers) is form

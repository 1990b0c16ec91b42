"""What the compiler decides about some hundred programs is what it decided before.

A change that is meant to decide otherwise, or to write other code, is followed by `python -m tests.compiler.snapshots`: what git then
shows are the programs that it is about, and what has become of them.
"""

from functools import cache

import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from tests.compiler.snapshots import eager, forms, keeping, sizes
from tests.compiler.snapshots.programs import PROGRAMS, of_each_op

#: What LLVM writes changes with its version, and any change of code is one here: run before a release, and by `tests.mutants`.
pytestmark = pytest.mark.long

CASES = [(group, name) for group, programs in PROGRAMS.items() for name in programs]
OPS, FORMS, EAGER, SIZES = of_each_op(), forms.of_ops(), eager.names(), sizes.of_sizes()
_kept = cache(keeping.kept)


def test_each_program_has_a_snapshot():
    assert {group: list(keeping.kept(group)) for group in PROGRAMS} == {group: list(programs) for group, programs in PROGRAMS.items()}
    assert [list(keeping.kept(group)) for group in ("ops", "forms", "eager")] == [list(OPS), list(FORMS), EAGER]
    assert [list(keeping.kept(group)) for group in ("drawn", "sizes")] == [[str(seed) for seed in keeping.SEEDS], list(SIZES)]


@pytest.mark.parametrize(("group", "name"), CASES)
def test_decisions_and_code_are_those_of_the_snapshot(group, name):
    assert keeping.lines_of(PROGRAMS[group][name]) == _kept(group)[name][: -len(keeping.OTHER_TARGETS)]


@pytest.mark.parametrize(("group", "name"), [case for case in CASES if not case[1].endswith(", derivatives")])
def test_decisions_for_other_targets_are_those_of_the_snapshot(group, name):
    assert keeping.checksums_of(PROGRAMS[group][name]) == _kept(group)[name][-len(keeping.OTHER_TARGETS) :]


@pytest.mark.parametrize("op", OPS)
def test_decisions_about_each_op_are_those_of_the_snapshot(op):
    assert keeping.op_lines(OPS[op]) == _kept("ops")[op]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("op", FORMS)
def test_decisions_about_forms_of_each_op_are_those_of_the_snapshot(op):
    assert keeping.form_lines(FORMS[op]) == _kept("forms")[op]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EAGER)
def test_what_an_eager_op_asks_for_is_that_of_the_snapshot(name):
    assert keeping.eager_lines(name) == _kept("eager")[name]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", keeping.SEEDS)
def test_decisions_about_a_drawn_program_are_those_of_the_snapshot(seed):
    assert keeping.seed_lines(seed) == _kept("drawn")[str(seed)]


@pytest.mark.parametrize(("number", "name"), list(enumerate(SIZES)))
def test_decisions_about_a_kernel_of_some_size_are_those_of_the_snapshot(number, name):
    assert keeping.size_lines(number, SIZES[name]) == _kept("sizes")[name]

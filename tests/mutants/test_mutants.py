"""The rules that make mutants change one place each, and the change is as they say."""

import ast
import json

import pytest

from tests.mutants.nearest import Nearest
from tests.mutants.places import noting
from tests.mutants.rules import mutants

SOURCE = '''
LIMIT = 4
PASSES = (first, second)

def f(x, y, é):
    if x < LIMIT and y:
        return min(x, y)
    return [é for é in y if é >= x] if x or y else None

class C:
    def g(self):
        def inner(z):
            return z > 1
        return inner
'''


def test_each_mutant_is_a_program_that_differs_in_one_place():
    found = mutants("a.py", SOURCE)
    texts = [mutant.applied(SOURCE) for mutant in found]
    assert len(set(texts)) == len(texts) > 12
    for text in texts:
        ast.parse(text)
        assert sum(a != b for a, b in zip(text.splitlines(), SOURCE.splitlines(), strict=True)) == 1


@pytest.mark.parametrize(("rule", "changed"), [
    ("condition dropped", "if ((y)):"), ("condition dropped", "if ((x < LIMIT)):"), ("condition decided", "if True:"),
    ("condition decided", "if False else None"), ("bound moved", "if (x <= LIMIT) and y:"), ("filter dropped", "for é in y if True]"),
    ("bound dropped", "return (x)"), ("stage left out", "PASSES = (second,)"), ("bound moved", "(z >= 1)"),
])
def test_a_rule_makes_the_change_that_it_names(rule, changed):
    assert any(mutant.rule == rule and changed in mutant.applied(SOURCE) for mutant in mutants("a.py", SOURCE))


def test_a_mutant_knows_the_function_that_a_test_enters():
    assert {mutant.function for mutant in mutants("a.py", SOURCE)} == {"", "f", "C.g"}


PROGRAM = '''
class Chooser:
    def choose(self, x, y, names):
        """One of three."""
        if x < 3 and (y or names) and not (x == y):
            return min(x, y), [name for name in names if name != "a" if len(name) <= 2]
        return ("low" if y > 1 else "high"), x or names

def choose(x, y):
    return Chooser().choose(x, y, ["a", "bc", "def"][:x])
'''
ARGUMENTS = [(x, y) for x in range(5) for y in range(4)]


def _outcome(code, arguments):
    scope = {}
    exec(compile(code, "program", "exec"), scope)
    return scope["choose"](*arguments)


def _noted(arguments):
    met = set()
    outcome = _outcome(noting("a.py", PROGRAM, met.add), arguments)
    return outcome, met


@pytest.mark.parametrize("arguments", ARGUMENTS)
def test_a_program_that_notes_its_places_does_the_same(arguments):
    outcome, met = _noted(arguments)
    assert outcome == _outcome(PROGRAM, arguments)
    assert {"a.py:choose", "a.py:Chooser.choose"} < met


def test_a_mutant_that_does_something_else_differs_at_a_place_that_was_noted():
    noted = {arguments: _noted(arguments) for arguments in ARGUMENTS}
    found = mutants("a.py", PROGRAM)
    for mutant in found:
        differing = [a for a in ARGUMENTS if _outcome(mutant.applied(PROGRAM), a) != noted[a][0]]
        assert all(noted[a][1] & set(mutant.places) for a in differing), str(mutant)
        # Not every mutant differs everywhere, or the places would tell nothing.
        assert any(not noted[a][1] & set(mutant.places) for a in ARGUMENTS), str(mutant)
    assert {mutant.rule for mutant in found} == {"condition dropped", "condition decided", "filter dropped", "bound moved", "bound dropped"}


@pytest.mark.parametrize(("source", "drawn"), [
    ("if (n := f()) and g(n): pass", ["((n := f()))"]), ("if n > cost.MOST: pass", ["True", "False"]),
    ("if n > target.second_cache // 2: pass", ["True", "False"]),
])
def test_what_tells_nothing_is_not_drawn(source, drawn):
    assert [mutant.text for mutant in mutants("a.py", source)] == drawn


def test_the_nearest_tests_come_to_the_place_and_stand_beside_the_module(tmp_path):
    (mutant,) = [found for found in mutants("compiler/passes/alias.py", "def f(x):\n    return 1 if x else 2") if found.text == "True"]
    tests = {"tests/nn/test_b.py::far": 0.1, "tests/compiler/passes/test_fuse.py::beside": 0.3, "tests/compiler/passes/test_alias.py::own": 0.4,
             "tests/nn/test_b.py::elsewhere": 0.2}
    places = {mutant.places[0]: [0, 1, 2], "compiler/passes/alias.py:f": [0, 1, 2, 3]}
    (tmp_path / "1.json").write_text(json.dumps({"seconds": tests, "places": places, "import": []}))
    nearest = Nearest(tmp_path)
    assert nearest.differing(mutant) == list(tests)[:3]
    assert [test.split("::")[1] for test in nearest.to(mutant, 4, 60.0)] == ["own", "beside", "far"]
    assert [test.split("::")[1] for test in nearest.to(mutant, 20, 60.0)] == ["own", "beside", "far", "elsewhere"]
    assert [test.split("::")[1] for test in nearest.to(mutant, 20, 0.5)] == ["own", "beside"]


def test_a_stage_that_is_left_out_is_near_to_the_tests_that_enter_it(tmp_path):
    found = mutants("compiler/kinds.py", "KINDS = (Matmul(), Gather(),)")
    places = {"compiler/kernels/matmul.py:Matmul.matches": [0], "compiler/kernels/inline.py:Gather.matches": [1]}
    (tmp_path / "1.json").write_text(json.dumps({"seconds": {"a.py::products": 1.0, "a.py::chosen": 1.0}, "places": places, "import": []}))
    assert [Nearest(tmp_path).to(mutant, 9, 9.0) for mutant in found] == [["a.py::products"], ["a.py::chosen"]]

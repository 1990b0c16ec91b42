"""The rules that make mutants change one place each, and the change is as they say."""

import ast

import pytest

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

"""The runner of other projects' tests: it rewrites imports and nothing else, and each failure needs a reason."""

import ast
import importlib
from pathlib import Path

import pytest

from tests.suites.running import Outcome, Suite, explained, main, rewritten, run, table

MODULES = {"autograd": "retrograde", "numpy": "drop_in.numpy", "numpy.testing": "numpy.testing"}
SUITES = sorted(path.stem for path in Path(__file__).with_name("suites").glob("*.py") if "SUITE" in path.read_text())

TESTS = '''
import theirs
from theirs.inner import answer


def test_right():
    assert answer == 42


def test_wrong():
    assert answer == 41, "it is 42"


def test_known():
    assert theirs.__name__ == "theirs"
'''


@pytest.mark.parametrize(("before", "after"), [
    ("import autograd", "import retrograde as autograd"),
    ("import autograd.numpy as np, os", "import retrograde.numpy as np, os"),
    ("import autograd.scipy.signal", "import retrograde.scipy.signal, retrograde as autograd"),
    ("from autograd import (\n    grad,\n    jacobian as j,\n)  # both", "from retrograde import grad, jacobian as j  # both\n\n\n"),
    ("if x:\n    from autograd.core import vspace; y = 1", "if x:\n    from retrograde.core import vspace; y = 1"),
    ("import numpy as np", "import drop_in.numpy as np"),
    ("from numpy.testing import assert_equal", "from numpy.testing import assert_equal"),
    ("from numpy import testing", "from numpy import testing"),
    ("from numpy import linalg, testing", "from drop_in.numpy import linalg\nfrom numpy import testing"),
    ("import autograd_gamma\nfrom . import autograd", "import autograd_gamma\nfrom . import autograd"),
    ("x = 'import autograd'  # import autograd", "x = 'import autograd'  # import autograd"),
])
def test_imports_are_rewritten_and_nothing_else(before, after):
    found = rewritten(before, MODULES)
    assert ast.dump(ast.parse(found)) == ast.dump(ast.parse(after))
    assert [line for line in before.splitlines() if "import" not in line and line.strip(" ),(") and "=" in line] \
        == [line for line in found.splitlines() if "import" not in line and line.strip(" ),(") and "=" in line]


def test_lines_keep_their_numbers():
    source = "from autograd import (\n    grad,\n    hessian,\n)\n\n1 / 0\n"
    assert rewritten(source, MODULES).splitlines().index("1 / 0") == 5


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_them.py").write_text(TESTS)
    (tmp_path / "tests" / "ours").mkdir()
    (tmp_path / "tests" / "ours" / "__init__.py").write_text("")
    (tmp_path / "tests" / "ours" / "inner.py").write_text("answer = 42\n")
    return tmp_path


def test_a_run_reports_each_test_and_asks_for_a_reason_of_each_failure(checkout, capsys):
    before = (checkout / "tests" / "test_them.py").read_text()
    reasons = {"tests.test_them::test_known": "our package has its own name", "*gone*": "no such test"}
    suite = Suite("Theirs", ("tests",), modules={"theirs": "ours"}, reasons=reasons)
    found = run(suite, checkout, "-p", "no:xdist")
    states = {o.name.split("::")[-1]: o.state for o in found}
    assert states == {"test_right": "passed", "test_wrong": "failed", "test_known": "failed"}
    assert (checkout / "tests" / "test_them.py").read_text() == before
    by_reason, unexplained, stale = explained(found, reasons)
    assert by_reason == {"our package has its own name": ["tests.test_them::test_known"]}
    assert [o.name for o in unexplained] == ["tests.test_them::test_wrong"]
    assert stale == ["*gone*"]
    shown = table(suite, found)
    assert "| all | 1 | 2 | 0 |" in shown
    assert "without a reason: tests.test_them::test_wrong" in shown
    assert "a reason without a failure: *gone*" in shown
    assert main(suite, arguments=[str(checkout), "--", "-k", "test_wrong"]) == 1
    assert main(suite, arguments=[str(checkout), "--", "-k", "test_known"]) == 0
    capsys.readouterr()


def test_failures_without_a_reason_count_and_reasons_are_patterns():
    found = [Outcome("a::x[1]", "failed", "no"), Outcome("a::x[2]", "passed"), Outcome("a::y", "skipped")]
    assert explained(found, {"a::x*": "why"}) == ({"why": ["a::x[1]"]}, [], [])
    assert explained(found, {}, {"n*": "because", "m*": "no"}) == ({"because": ["a::x[1]"]}, [], ["m*"])
    assert explained(found, {"a::x*": "why"}, {"n*": "because"}) == ({"why": ["a::x[1]"]}, [], ["n*"])


@pytest.mark.parametrize("name", SUITES)
def test_each_suite_says_why_in_a_sentence(name):
    suite = importlib.import_module(f"tests.suites.{name}").SUITE
    assert all(len(reason) > 20 for reason in [*suite.reasons.values(), *suite.messages.values()])
    assert suite.title
    assert suite.paths

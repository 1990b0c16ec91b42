"""What the documentation shows is run: docstrings, code blocks, examples; and generated pages are up to date."""

import doctest
import gzip
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from pages import anchor, headings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Examples that ask a real language model for minutes have tests of their own, on another model.
SLOW = {"prompt_and_weights"}
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem not in SLOW)
MODULES = sorted({"retrograde", *(module.name for module in pkgutil.walk_packages(rg.__path__, "retrograde."))})


@pytest.fixture(autouse=True)
def _registry_as_before():
    """Ops that a page defines are taken out again."""
    before = set(rg.ops.names())
    yield
    for name in set(rg.ops.names()) - before:
        rg.ops.unregister(name)


def imported(name):
    """The module `name`; the test is skipped if a library that comes with an extra is missing."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.startswith("retrograde"):
            raise
        pytest.skip(f"{name} needs {error.name}, which an extra installs")


def documented(module):
    """(name, docstring) of the module, and of the functions, ops, classes and methods that it defines."""
    yield module.__name__, module.__doc__
    for name, value in vars(module).items():
        if callable(value) and getattr(value, "__module__", None) == module.__name__:
            yield f"{module.__name__}.{name}", inspect.getdoc(value)
            for inner, member in vars(value).items() if inspect.isclass(value) else ():
                if inspect.isroutine(member) or isinstance(member, property):
                    yield f"{module.__name__}.{name}.{inner}", inspect.getdoc(member)


class NearlyEqual(doctest.OutputChecker):
    """Takes output whose numbers differ in the last digit only, as they do from one processor to another."""

    number = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        words, numbers = ([part(text) for text in (want, got)] for part in (self._words, self._numbers))
        return words[0] == words[1] and len(numbers[0]) > 0 and numbers[0] == pytest.approx(numbers[1], rel=1e-6)

    def _words(self, text):
        return "".join(self.number.sub("#", text).split())

    def _numbers(self, text):
        return [float(found) for found in self.number.findall(text)]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_give_what_they_show(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module, said = imported(name), []
    runner = doctest.DocTestRunner(NearlyEqual(), verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    for where, text in documented(module):
        namespace = {**vars(module), "rg": rg, "np": np}
        example = doctest.DocTestParser().get_doctest(text or "", namespace, where, None, None)
        runner.run(example, out=said.append)
    assert not said, "".join(said)


def code_blocks(text):
    """The Python blocks of a page, each with its line, so that errors point there."""
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield "\n" * text[: match.start(1)].count("\n") + match[1]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_blocks_run_and_print_what_their_comments_say(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": page.stem}
    for block in code_blocks(page.read_text(encoding="utf-8")):
        try:
            exec(compile(block, page, "exec"), namespace)
        except rg.errors.MissingExtraError as error:
            pytest.skip(str(error))
        promised = re.findall(r"^ *print\(.*\)  # (.+)$", block, re.MULTILINE)
        assert capsys.readouterr().out.splitlines() == promised, f"{page.name}, block ending on line {block.count(chr(10))}"


def clothes(folder):
    """A folder with files as those of Fashion-MNIST, of a few made-up images; returns it."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 128), ("t10k", 50)):
        for name, shape in (("images-idx3", (count, 28, 28)), ("labels-idx1", (count,))):
            numbers = rng.integers(0, 10, shape, np.uint8)
            with gzip.open(folder / f"{part}-{name}-ubyte.gz", "wb") as file:
                file.write(bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes() + numbers.tobytes())
    return folder


#: What examples that would take long are called with here.
SHORT = {"fashion": lambda folder: ["--data", clothes(folder), "--epochs", "1"],
         "gpt": lambda folder: ["--steps", "2", "--length", "5"]}


#: What examples need that no extra of ours installs but that of the tests.
NEEDED = {"reinforcement": "gymnasium", "tabular": "pandas"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_examples_run(example, tmp_path):
    """Examples that learn something end with an error if they have not."""
    if (name := NEEDED.get(example.stem)) is not None:
        pytest.importorskip(name, reason=f"the example needs {name}, which the extra `test` installs")
    options = SHORT.get(example.stem, lambda folder: [])(tmp_path)
    done = subprocess.run([sys.executable, "-W", "error", example, *options], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("name", ["fashion", "gpt", "soft_prompt"])
def test_examples_with_arguments_tell_them(name):
    done = subprocess.run([sys.executable, ROOT / "examples" / f"{name}.py", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"usage: {name}.py [-h]")


def test_the_page_of_examples_lists_all_of_them():
    page = (ROOT / "docs" / "examples.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| \[(\w+\.py)\]", page, re.MULTILINE)) == sorted(path.name for path in (ROOT / "examples").glob("*.py"))
    assert {path.name: n for path in (ROOT / "examples").glob("*.py") if (n := len(path.read_text().splitlines())) >= 150} == {}


def test_the_page_of_ops_is_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "docs" / "make_ops.py", "--print"], capture_output=True, check=True)
    page = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert page == done.stdout.decode(), "docs/ops.md is out of date; run `python docs/make_ops.py`"


def test_links_between_pages_lead_somewhere():
    anchors = {page: {anchor(title) for _, title in headings(page.read_text(encoding="utf-8"))} for page in PAGES}
    for page in PAGES:
        for target, heading in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve() if target else page
            assert found.exists(), f"{page.name} links to {target}"
            assert not heading or heading in anchors[found], f"{page.name} links to {target}#{heading}"


def test_a_blank_line_stands_before_each_heading():
    for page in PAGES:
        lines = page.read_text(encoding="utf-8").splitlines()
        for number, title in headings("\n".join(lines)):
            assert number == 0 or not lines[number - 1], f"{page.name}: {title}"


def test_the_first_two_blocks_of_the_readme_are_one_command_each():
    blocks = re.findall(r"^```\w*\n(.*?)^```", PAGES[0].read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    run, test = blocks[:2]
    assert run.count("\n") == test.count("\n") == 1
    assert run.startswith("pip install") and "retrograde demo" in run
    assert test.startswith("pip install") and "pytest" in test

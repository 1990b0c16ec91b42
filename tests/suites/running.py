"""Running: another project's tests on ours. A copy with its imports rewritten, pytest in it, and a table of what failed and why."""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Suite:
    """Another project's tests: where they are, what their imports become, and why some fail.

    title     the name of the project
    paths     files and folders that are copied, seen from the checkout
    targets   those of them that pytest is given; all if empty
    modules   what a module is replaced by: {"autograd": "retrograde"}; the longest name that fits counts
    reasons   {pattern of test names: why they fail}; a failure without a reason, or a reason without a failure, is told
    messages  {pattern of what a failed test says: why it fails}, for those that no name has a reason for
    selected  patterns of test names that are run; all if empty
    options   more arguments of pytest
    environment  variables that are set
    """

    title: str
    paths: tuple
    targets: tuple = ()
    modules: dict = field(default_factory=dict)
    reasons: dict = field(default_factory=dict)
    messages: dict = field(default_factory=dict)
    selected: tuple = ()
    options: tuple = ()
    environment: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of one test: `passed`, `failed` or `skipped`, and the last line of its message."""

    name: str
    state: str
    message: str = ""


def rewritten(source, modules):
    """`source` with the modules that its import statements name replaced; nothing else changes, not even line numbers."""
    lines = source.splitlines(keepends=True)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    for node in sorted(nodes, key=lambda node: node.lineno, reverse=True):
        changed = _changed(node, modules)
        if changed is None:
            continue
        first, last = node.lineno - 1, node.end_lineno - 1
        before, after = lines[first].encode()[:node.col_offset].decode(), lines[last].encode()[node.end_col_offset:].decode()
        lines[first:last + 1] = [before + changed + after, *["\n"] * (last - first)]
    return "".join(lines)


def _changed(node, modules):
    """An import statement with modules replaced; None if it stays as it is."""
    if isinstance(node, ast.ImportFrom):
        return None if node.level else _changed_from(node, modules)
    names, is_changed = [], False
    for alias in node.names:
        found = _replaced(alias.name, modules)
        is_changed = is_changed or found is not None
        names.append(ast.alias(found or alias.name, alias.asname))
        if found and alias.asname is None and found != alias.name:
            # `import a.b` binds `a`, which must now be our package.
            top = alias.name.split(".", maxsplit=1)[0]
            if "." not in alias.name:
                names[-1] = ast.alias(found, top)
            else:
                names.append(ast.alias(_replaced(top, modules) or top, top))
    return ast.unparse(ast.Import(names)) if is_changed else None


def _changed_from(node, modules):
    """A `from ... import ...` with its module replaced, which may be another for each name; None if it stays as it is."""
    by_module = {}
    for alias in node.names:
        found = _replaced(f"{node.module}.{alias.name}", modules)
        module = found.rpartition(".")[0] if found else node.module
        by_module.setdefault(module, []).append(alias)
    if list(by_module) == [node.module]:
        return None
    return "; ".join(ast.unparse(ast.ImportFrom(module, names, 0)) for module, names in by_module.items())


def _replaced(name, modules):
    """The module that stands for `name`, by the longest name in `modules` that it begins with; None if none does.

    What is private in a module stays its own.
    """
    known = [old for old in modules if name == old or name.startswith(f"{old}.")]
    if not known:
        return None
    old = max(known, key=len)
    rest = name[len(old):]
    return None if modules[old] == old or "._" in rest else modules[old] + rest


def copied(suite, checkout, folder):
    """Copy the tests of `suite` from `checkout` to `folder`, with their imports rewritten."""
    ignored = shutil.ignore_patterns(".git", "__pycache__", ".hypothesis")
    for path in suite.paths:
        source, target = Path(checkout) / path, Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignored, dirs_exist_ok=True)
        else:
            shutil.copy(source, target)
    for path in sorted(Path(folder).rglob("*.py")) if suite.modules else ():
        path.write_text(rewritten(path.read_text(), suite.modules))


def run(suite, checkout, *options, keep=None):
    """The outcomes of the tests of `suite` in `checkout`, which stays as it is; `keep` is a folder for the copy."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(keep or temporary)
        copied(suite, checkout, folder)
        ini = folder / "pytest.ini"
        if not ini.exists():
            ini.write_text("[pytest]\n")
        report = Path(temporary) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-c", str(ini), f"--junitxml={report}", "-q", "-p", "no:cacheprovider",
                   "--tb=short", *suite.options, *(suite.targets or suite.paths), *options]
        paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **suite.environment}
        subprocess.run(command, cwd=folder, env=environment, check=False)
        if not report.exists():
            raise SystemExit(f"pytest came to no test of {suite.title}: see what it says above")
        found = outcomes(report)
    if suite.selected:
        found = [o for o in found if any(fnmatchcase(o.name, pattern) for pattern in suite.selected)]
    return found


def outcomes(report):
    """The outcomes in a report that pytest wrote."""
    found = []
    for case in ElementTree.parse(report).iter("testcase"):
        name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
        bad = [child for child in case if child.tag in {"failure", "error"}]
        state = "failed" if bad else "skipped" if case.find("skipped") is not None else "passed"
        if any(p.get("name") == "reached" and p.get("value") == "0" for p in case.iter("property")):
            continue  # a test that called no function of ours says nothing
        found.append(Outcome(name, state, (bad[0].get("message") or "").strip() if bad else ""))
    return found


def explained(found, reasons, messages=()):
    """({reason: names of failed tests}, failures without a reason, patterns without a failure).

    `messages` are reasons by what a test says, which count where its name has none in `reasons`.
    """
    messages = dict(messages)
    by_reason, unexplained, used = {}, [], set()
    for outcome in found:
        if outcome.state != "failed":
            continue
        pattern = _first_match(outcome.name, reasons) or _first_match(outcome.message, messages)
        if pattern is None:
            unexplained.append(outcome)
        else:
            used.add(pattern)
            by_reason.setdefault({**messages, **reasons}[pattern], []).append(outcome.name)
    return by_reason, unexplained, [p for p in [*reasons, *messages] if p not in used]


def _first_match(text, patterns):
    return next((p for p in patterns if fnmatchcase(text, p)), None)


def _grouped(names):
    """Names of tests, with the number of their cases where there are several: "test_sum, 2, test_mean"."""
    cases = Counter(name.split("::", 1)[-1].partition("[")[0] for name in names)
    return ", ".join(f"{name}, {count}" if count > 1 else name for name, count in cases.items())


def table(suite, found):
    """What is printed: passed, failed and skipped by file, and the failures by reason, as tables in Markdown."""
    states = Counter(o.state for o in found)
    by_file = {}
    for outcome in found:
        by_file.setdefault(outcome.name.split("::")[0], Counter())[outcome.state] += 1
    lines = [f"| {suite.title} | passed | failed | skipped |", "| --- | --- | --- | --- |"]
    for file, counts in sorted(by_file.items()):
        lines.append(f"| {file} | {counts['passed']} | {counts['failed']} | {counts['skipped']} |")
    lines += [f"| all | {states['passed']} | {states['failed']} | {states['skipped']} |", ""]
    by_reason, unexplained, stale = explained(found, suite.reasons, suite.messages)
    if by_reason:
        lines += ["| failed | reason |", "| --- | --- |"]
        lines += [f"| {_grouped(names)} | {why} |" for why, names in by_reason.items()]
    lines += [f"without a reason: {o.name}: {o.message.splitlines()[0] if o.message else ''}" for o in unexplained]
    lines += [f"a reason without a failure: {pattern}" for pattern in stale]
    return "\n".join(lines)


def main(suite, checkout=None, arguments=None):
    """The command: run `suite` in the checkout that is named, print the table; the exit status is 0 if each failure has a reason."""
    parser = argparse.ArgumentParser(description=f"The tests of {suite.title} on retrograde.",
                                     epilog="What follows -- is handed to pytest.")
    parser.add_argument("checkout", nargs="?" if checkout else None, default=checkout and str(checkout), help="a folder with the project's source")
    parser.add_argument("--keep", help="a folder in which the rewritten copy is kept")
    arguments = sys.argv[1:] if arguments is None else arguments
    own = arguments[:arguments.index("--")] if "--" in arguments else arguments
    given = parser.parse_args(own)
    found = run(suite, given.checkout, *arguments[len(own) + 1:], keep=given.keep)
    print(table(suite, found))
    _, unexplained, _ = explained(found, suite.reasons, suite.messages)
    return 1 if unexplained or not found else 0

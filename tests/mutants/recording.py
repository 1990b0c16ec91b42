"""A plugin of pytest that notes what each test meets of the compiler, and how long it takes: `-p tests.mutants.recording`."""

import importlib.machinery
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

import pytest

from .nearest import SNAPSHOTS
from .places import noting

#: The variable that names the folder for the notes.
FOLDER = "RETROGRADE_MUTANTS_NOTES"
#: So many tests of each file are kept for a place, the shortest ones. Most places are met by thousands.
_OF_A_FILE = 8
_PACKAGE = "retrograde"
_ROOT = Path(importlib.util.find_spec(_PACKAGE).origin).parent
_met, _at_import = set(), set()
_seconds, _tests_at = {}, {}


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a file of the compiler so that it notes what happens; nothing of it is kept in files."""

    def get_code(self, fullname):
        path = Path(self.get_filename(fullname))
        tree = noting(path.relative_to(_ROOT).as_posix(), path.read_text(), _met.add)
        return compile(tree, str(path), "exec", dont_inherit=True)


class _Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        if not name.startswith(f"{_PACKAGE}.compiler."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin:
            spec.loader = _Loader(name, spec.origin)
        return spec


sys.meta_path.insert(0, _Finder)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Note what a test meets, if it passes."""
    _at_import.update(_met if not _seconds else ())
    _met.clear()
    start = time.perf_counter()
    outcome = yield
    if outcome.excinfo is None:
        _seconds[item.nodeid] = time.perf_counter() - start
        for place in _met:
            _tests_at.setdefault(place, []).append(item.nodeid)


def pytest_sessionfinish():
    """Write what was noted; each process of pytest-xdist writes a file of its own."""
    if _seconds:
        number = {test: i for i, test in enumerate(_seconds)}
        places = {place: [number[test] for test in _short(place, tests)] for place, tests in _tests_at.items()}
        Path(os.environ[FOLDER], f"{os.getpid()}.json").write_text(json.dumps({"seconds": _seconds, "places": places, "import": sorted(_at_import)}))


def _short(place, tests):
    """The shortest of some tests, a few of each file; all of those in the folder for the module, and all snapshots."""
    folders = f"tests/{Path(place.split(':')[0]).parent.as_posix()}/", SNAPSHOTS
    of_file = {}
    for test in sorted(tests, key=_seconds.__getitem__):
        of_file.setdefault(test.split("::")[0], []).append(test)
    return [test for file, found in of_file.items() for test in (found if file.startswith(folders) else found[:_OF_A_FILE])]

"""A plugin of pytest that notes which functions of ours each test enters, and how long it takes: `-p tests.mutants.recording`."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

import retrograde

#: The variable that names the folder for the notes.
FOLDER = "RETROGRADE_MUTANTS_NOTES"
_ROOT = f"{Path(retrograde.__file__).parent}{os.sep}"
_notes = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Note what a test enters."""
    entered = set()

    def note(frame, event, _):
        if event == "call":
            code = frame.f_code
            if code.co_filename.startswith(_ROOT):
                entered.add(code)

    start = time.perf_counter()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)
    names = sorted({f"{code.co_filename[len(_ROOT):]}:{code.co_qualname.split('.<locals>')[0]}" for code in entered})
    _notes[item.nodeid] = time.perf_counter() - start, names


def pytest_sessionfinish():
    """Write what was noted; each process of pytest-xdist writes a file of its own."""
    if _notes:
        Path(os.environ[FOLDER], f"{os.getpid()}.json").write_text(json.dumps(_notes))

"""A plugin of pytest that answers, once tests are collected, which of them fail with a mutant: `-p tests.mutants.serving`.

It reads a question a line and forks for each. The fork changes the code of one function, wherever a function has it, and runs tests.
So nothing is loaded or collected anew, and nothing that a mutant does is left behind.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import tempfile
import time
import traceback
import types

import pytest

from retrograde import compiler

#: The variable that names the two ends of pipes, to read from and to write to.
PIPES = "RETROGRADE_MUTANTS_PIPES"
_failed = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Answer questions until there are no more, in place of running what was collected."""
    items, functions = {item.nodeid: item for item in session.items}, {}
    # Most of code generation is loaded once there is code to generate; what is not loaded cannot be changed.
    for module in pkgutil.walk_packages(compiler.__path__, f"{compiler.__name__}."):
        importlib.import_module(module.name)
    for found in gc.get_objects():
        if isinstance(found, types.FunctionType):
            functions.setdefault(found.__code__.co_filename, []).append(found)
    # A fork copies what its collector looks at.
    gc.freeze()
    asks, tells = map(int, os.environ[PIPES].split(","))
    with os.fdopen(asks) as lines:
        for line in lines:
            os.write(tells, json.dumps(_answered(json.loads(line), items, functions)).encode() + b"\n")
    return True


def pytest_runtest_logreport(report):
    """Note what fails."""
    if report.failed:
        _failed.append(report.nodeid)


def _answered(asked, items, functions):
    """("failed", the tests that do), ("unable", None) where the mutant cannot be made of what is loaded, or ("broken", why)."""
    reads, writes = os.pipe()
    with tempfile.TemporaryDirectory(prefix="mutants-code") as cache:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.environ["RETROGRADE_CACHE_DIR"] = cache
            try:
                told = _run(asked, items, functions)
            except BaseException:  # noqa: BLE001 - is told
                told = "broken", traceback.format_exc()
            os.write(writes, json.dumps(told).encode() + b"\n")
            os._exit(0)
        os.close(writes)
        found, is_over = _read(reads, asked["timeout"])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not is_over:
        return "failed", ["timeout"]
    # A process that a signal ended, as where machine code reads memory that is not ours, has told nothing.
    return json.loads(found) if found else ("failed", ["the process ended"])


def _read(pipe, timeout):
    """(what comes through a pipe, whether it came in time): a line and not all, as a process that a test has started may keep it open."""
    found, is_over, end = b"", False, time.monotonic() + timeout
    while not is_over and select.select([pipe], [], [], max(end - time.monotonic(), 0))[0]:
        read = os.read(pipe, 1 << 16)
        found, is_over = found + read, not read or read.endswith(b"\n")
    os.close(pipe)
    return found, is_over


def _run(asked, items, functions):
    if "text" in asked and not _is_changed(asked, functions.get(asked["file"], ())):
        return "unable", None
    chosen = [items[test] for test in asked["tests"] if test in items]
    for item, following in zip(chosen, [*chosen[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if _failed and not asked["all"]:
            break
    return "failed", list(dict.fromkeys(_failed))


def _is_changed(asked, functions):
    """Give those `functions` of a file that have the code of a function its code in `text`; whether there are such, and all took it."""
    before, after = [_code(compile(asked[text], asked["file"], "exec", dont_inherit=True), asked["function"].split("."))
                     for text in ("source", "text")]
    changed = [function for function in functions if function.__code__ == before]
    with contextlib.suppress(ValueError):  # it has no use any more for a name of the scope around it
        for function in changed:
            function.__code__ = after
        return bool(changed)
    return False


def _code(code, names):
    """The code of a function by its qualified name; of two of one name, as of a property, none."""
    for name in names:
        found = [constant for constant in code.co_consts if isinstance(constant, types.CodeType) and constant.co_name == name]
        if len(found) != 1:
            return None
        code = found[0]
    return code



"""Failures: whatever happens to one of three processes, all end, and the reason is told once."""

import re
import time

import pytest

from launching import needs_mpi, started
from retrograde.distributed.running import handed_on, meaning_of

WAYS = {
    "kill": r"retrograde: process 1 of 3, on \S+, was ended by SIGKILL; the system does that to what takes too much memory",
    "raise": r"retrograde: process 1 of 3 failed, and all others are ended:\nTraceback(.|\n)*ZeroDivisionError: division by zero",
    "exit": r"processes 0 and 2: call (\d+): all_gather of float32\[3\]; process 1: call \1: the end of the program",
    "leave": r"retrograde: process 1 of 3, on \S+, ended without leaving the others",
    "memory": r"retrograde: process 1 of 3 failed(.|\n)*MemoryError",
    "stop": (r"DistributedError: process 1 did not come to all_gather of float32\[3\] within 4 s(.|\n)*"
             r"it came to all_reduce\(sum\) of float32\[3\] last"),
    "loop": r"DistributedError: process 1 did not come to all_gather",
}


def check(way):
    start = time.monotonic()
    found = started(3, "failing.py", way, seconds=40, RETROGRADE_PATIENCE="4")
    assert time.monotonic() - start < 30
    assert found.returncode != 0
    assert re.search(WAYS[way], found.stderr), found.stderr
    assert len(re.findall("^retrograde: ", found.stderr, re.MULTILINE)) == 1, found.stderr
    assert "prterun" not in found.stderr and "MPI_ABORT" not in found.stderr


@needs_mpi
@pytest.mark.parametrize("way", ["kill", "raise"])
def test_one_process_that_fails_ends_all_and_is_named(way):
    check(way)


@needs_mpi
@pytest.mark.long
@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("kill", "raise")])
def test_so_do_others(way):
    check(way)


KILLED = """prterun noticed that process rank 1 with PID 15353 on node vm exited on
signal 9 (Killed).
"""
ABORTED = "prterun has exited due to process rank 1 with PID 0 on node vm calling\n\"abort\". This may have caused other processes\n"


def test_what_the_launcher_says_is_one_line():
    assert meaning_of(KILLED, 4).startswith("process 1 of 4, on vm, was ended by SIGKILL")
    assert meaning_of(KILLED.replace("signal 9", "signal 11"), 4) == "process 1 of 4, on vm, was ended by SIGSEGV; all others are ended"
    assert meaning_of(ABORTED, 4) == ""
    assert meaning_of("There are not enough slots available in the system", 4) is None


def test_a_remark_of_the_launcher_that_is_unknown_does_not_hide_the_reason(capsys):
    rule = "-" * 74 + "\n"
    remark = "A system call failed during shared memory initialization that should\nnot have.\n"
    assert handed_on([rule, *remark.splitlines(True), rule, rule, *KILLED.splitlines(True), rule], 4)
    said = capsys.readouterr().err
    assert remark in said and "retrograde: process 1 of 4, on vm, was ended by SIGKILL" in said
    assert not handed_on([rule, *remark.splitlines(True), rule], 4)


@pytest.mark.parametrize("stray", ["", " ", "\0"])
def test_a_character_of_the_launcher_before_the_reason_is_left_out(stray, capsys):
    reason = "retrograde: process 1 of 3 failed, and all others are ended:\n"
    assert handed_on([stray + reason, " ZeroDivisionError: division by zero\n"], 3)
    assert capsys.readouterr().err == reason + " ZeroDivisionError: division by zero\n"

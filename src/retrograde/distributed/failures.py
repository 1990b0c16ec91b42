"""Failures: a process that fails tells why, and ends all others, which would wait for it."""

import os
import sys
import time
import traceback

#: Seconds after which a process tells an error that another one has to tell. It is ended before, unless that one is stuck.
_SECONDS = 3


def tell_failures(group, abort):
    """Let an exception that nobody catches end all processes of `group`; `abort(code)` does that."""
    before = sys.excepthook

    def hook(kind, error, trace):
        if issubclass(kind, KeyboardInterrupt):
            before(kind, error, trace)
        ended_by(group, error, abort)

    sys.excepthook = hook


def ended_by(group, error, abort):
    """Tell an error and end all processes. Of an error that several have alike one tells it."""
    is_own = not hasattr(error, "is_told_here")
    if not is_own and not error.is_told_here:
        time.sleep(_SECONDS)
    sys.stdout.flush()
    text = "".join(traceback.format_exception(error)) if is_own else f"{type(error).__module__}.{type(error).__name__}: {error}\n"
    who = f"retrograde: process {group.rank} of {group.size} failed, and all others are ended:"
    # One write, so that the lines of several processes do not mix.
    os.write(2, f"{who if is_own else 'retrograde: all processes are ended:'}\n{text}".encode(errors="backslashreplace"))
    abort(1)

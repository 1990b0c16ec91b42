"""Running: starts processes, hands on what they print, and says in one line why they ended if they failed."""

import re
import signal
import subprocess
import sys

from .launcher import command

#: A line above and below what the launcher itself says.
_RULE = re.compile(r"^-{60,}\s*$")
_SIGNALLED = re.compile(r"process rank (\d+) with PID \d+ on node (\S+)\s+exited on\s+signal (\d+)", re.DOTALL)
_LEFT = re.compile(r"process rank (\d+) with PID \d+ on node (\S+)\s+exiting\s+improperly", re.DOTALL)
_CODE = re.compile(r"Process name: \[\[\d+,\d+\],(\d+)\]\s+Exit code:\s+(\d+)", re.DOTALL)
#: What a process says that ends the others (failures.py).
_ENDED = " are ended:"
#: What Open MPI's launcher puts before it at times: mostly a space, once a zero was seen.
_BEFORE_IT = " \0"
_KNOWN = ("MPI_ABORT was invoked", 'calling\n"abort"')


def run(count, words):
    """Start `count` processes of `words`, a program with its arguments, and wait for them; the exit code."""
    process = subprocess.Popen(command(count, words), stderr=subprocess.PIPE, text=True, errors="backslashreplace")  # noqa: S603
    before = signal.signal(signal.SIGTERM, lambda *_: process.terminate())
    try:
        said = handed_on(process.stderr, count)
        code = process.wait()
    except KeyboardInterrupt:
        process.wait()  # the launcher was interrupted too, and ends them
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
    if code and not said:
        print(f"retrograde: the processes ended with exit code {code}", file=sys.stderr)
    return code if 0 <= code < 256 else 1


def handed_on(lines, count):
    """Print the lines of the processes; of the launcher's, what they mean. Whether the reason of a failure was told."""
    is_told, block = False, None
    for line in lines:
        if block is not None and not _RULE.match(line):
            block += line
        elif block is None and not _RULE.match(line):
            is_told = is_told or _ENDED in line
            print(line.lstrip(_BEFORE_IT) if _ENDED in line else line, end="", file=sys.stderr, flush=True)
        elif block is None:
            block = ""
        else:
            is_told, block = _told(block, count, is_told), None
    return _told(block, count, is_told) if block else is_told


def _told(block, count, is_told):
    """Print what the launcher says, unless it is told already; whether it is now."""
    meaning = meaning_of(block, count)
    if meaning is None or _ENDED in block:
        print(block.rstrip(), file=sys.stderr)
    elif meaning and not is_told:
        print(f"retrograde: {meaning}", file=sys.stderr)
    # What is unknown may be a remark, as of files that a killed process has left, and the reason come after it.
    return is_told or bool(meaning) or _ENDED in block


def meaning_of(block, count):
    """What the launcher says, in one line; "" for what is told elsewhere, None for what is unknown."""
    if any(known in block for known in _KNOWN):
        return ""
    if match := _SIGNALLED.search(block):
        number = int(match[3])
        name = signal.Signals(number).name if number in [*map(int, signal.Signals)] else f"signal {number}"
        usual = "; the system does that to what takes too much memory" if number == signal.SIGKILL else ""
        return f"process {match[1]} of {count}, on {match[2]}, was ended by {name}{usual}; all others are ended"
    if match := _CODE.search(block):
        return f"process {match[1]} of {count} ended with exit code {match[2]} while others were at work; all others are ended"
    if match := _LEFT.search(block):
        return f"process {match[1]} of {count}, on {match[2]}, ended without leaving the others (os._exit); all others are ended"
    return None

"""Reading what may be malformed: it gives something, or an error of ours, soon, and within memory that its size bounds."""

import time
import tracemalloc

import retrograde as rg

#: The seconds that a small file may take.
SECONDS = 60


def outcome(read, size, allowance, fine):
    """What came of `read()`: `fine`, or the name of the class of an error of ours. Another error is handed on, and an AssertionError is
    raised for more than four times `size` bytes and an `allowance`, or for more than `SECONDS`.
    """
    start = time.perf_counter()
    tracemalloc.start()
    try:
        read()
        found = fine
    except rg.errors.RetrogradeError as error:
        found = type(error).__name__
        str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak <= 4 * size + allowance, f"{peak} bytes for {size}"
    assert time.perf_counter() - start < SECONDS
    return found

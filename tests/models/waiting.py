"""Waits for what other threads do."""

import time


def wait_until(holds, seconds=60):
    """Return as soon as a condition holds; fail if it does not for so long."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)

"""When to ask again, and how long to wait before."""

import math
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ...errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a transient fault is retried: `retries` times, after waits that double from `first` up to `longest` seconds.

    Each wait is drawn evenly from between half of it and all of it, so that many clients do not come back at once. A server
    that says how long to wait is obeyed, unless it asks for more than `patience` seconds: then the fault is reported.
    """

    retries: int = 5
    first: float = 0.5
    longest: float = 30.0
    patience: float = 120.0

    def __post_init__(self):
        if self.retries < 0 or not 0 <= self.first <= self.longest:
            raise ArgumentError(f"a Retry needs retries >= 0 and 0 <= first <= longest, got {self}")

    def wait(self, attempt, asked=None):
        """Seconds before the retry that follows attempt number `attempt` (from 0); None if the server asks for too long."""
        spread = random.uniform(0.5, 1.0)  # noqa: S311 - not for secrets
        if not asked:
            return min(self.first * 2**attempt, self.longest) * spread
        return None if asked > self.patience else asked + self.first * (1 - spread)


def retry_after(headers, now=None):
    """The seconds that a server asks to wait, by its headers: `retry-after-ms`, or `retry-after` as seconds or as a date.

    None where it does not say, or not in a way that can be read; a date that has passed is 0.

    >>> retry_after({"retry-after": "1.5"})
    1.5
    >>> retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:10 GMT"}, now=4.0)
    6.0
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    return _until(text, now) if seconds is None and text else seconds


def _number(text):
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return max(number, 0.0) if math.isfinite(number) else None


def _until(text, now):
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
    return max(date.timestamp() - (datetime.now(UTC).timestamp() if now is None else now), 0.0)

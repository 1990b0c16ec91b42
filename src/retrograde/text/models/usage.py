"""Amounts of calls, tokens and money."""

from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """An amount of calls, tokens and money."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def __add__(self, other):
        return Usage(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)

    def __sub__(self, other):
        return Usage(self.calls - other.calls, self.tokens - other.tokens, self.cost - other.cost)


@dataclass(frozen=True, slots=True)
class Totals:
    """What the calls of one kind came to: `seconds` are those of all calls, also where they ran at the same time.

    Answers that came out of a cache are counted in `cached`, and calls that ended in an error in `failed`.
    """

    calls: int = 0
    cached: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def __add__(self, other):
        return Totals(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @classmethod
    def of(cls, call):
        """What one call came to."""
        usage, answer = call.usage, call.completion
        return cls(usage.calls, int(answer is not None and answer.is_cached), int(call.error is not None), usage.tokens, usage.cost,
                   call.seconds)

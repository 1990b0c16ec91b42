"""Amounts of calls, tokens and money."""

from dataclasses import dataclass


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

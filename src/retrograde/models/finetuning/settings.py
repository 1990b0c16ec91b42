"""Settings of adapters: which layers have one, and of which size."""

import math
import re
from dataclasses import dataclass, field
from typing import Any

from ...errors import ArgumentError
from ...text.models.request import in_order

#: Targets that stand for each linear layer but the head.
ALL_LINEAR = "all-linear"


@dataclass(frozen=True)
class Settings:
    """How adapters are made: `rank` numbers between their two matrices, whose product is multiplied by `alpha` / `rank`.

    dropout             the chance of each input of an adapter to be dropped in training
    targets             "all-linear"; or the last parts of names of layers, such as ("q_proj", "v_proj"); or a regular expression
                        that matches whole names
    is_rank_stabilised  `alpha` is divided by the root of the rank in its place (Kalajdzievski, 2023)
    ranks, alphas       other ranks and alphas by regular expressions that match the last parts of names
    """

    rank: int = 8
    alpha: float = 16.0
    dropout: float = 0.0
    targets: Any = ALL_LINEAR
    is_rank_stabilised: bool = False
    ranks: dict = field(default_factory=dict)
    alphas: dict = field(default_factory=dict)

    def __post_init__(self):
        for patterns in (self.ranks, self.alphas):
            _check_patterns(patterns)
        for rank in (self.rank, *self.ranks.values()):
            if type(rank) is not int or rank < 1:
                raise ArgumentError(f"rank must be an integer of at least 1, got {rank!r}")
        for alpha in (self.alpha, *self.alphas.values()):
            if isinstance(alpha, bool) or not isinstance(alpha, (int, float)) or not math.isfinite(alpha):
                raise ArgumentError(f"alpha must be a number, got {alpha!r}")
        if isinstance(self.dropout, bool) or not isinstance(self.dropout, (int, float)) or not 0 <= self.dropout < 1:
            raise ArgumentError(f"dropout must be at least 0 and less than 1, got {self.dropout!r}")
        if not isinstance(self.targets, str):
            object.__setattr__(self, "targets", in_order("targets", self.targets))
            return
        try:
            re.compile(self.targets)
        except (OverflowError, RecursionError, re.error) as error:
            raise ArgumentError(f"targets are names of layers or a regular expression, got {self.targets!r:.60}: {error}") from None

    def matches(self, path):
        """Whether the layer at a path is adapted."""
        if isinstance(self.targets, str):
            return self.targets == ALL_LINEAR or re.fullmatch(self.targets, path) is not None
        return any([path == name or path.endswith(f".{name}") for name in self.targets])

    def of(self, path):
        """(rank, factor of the product) of the adapter at a path."""
        rank, alpha = _by_pattern(self.ranks, path, self.rank), _by_pattern(self.alphas, path, self.alpha)
        return rank, alpha / (math.sqrt(rank) if self.is_rank_stabilised else rank)


def _check_patterns(patterns):
    if not isinstance(patterns, dict):
        raise ArgumentError(f"ranks and alphas are dictionaries by regular expressions, got {patterns!r:.80}")
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (TypeError, OverflowError, RecursionError, re.error) as error:
            raise ArgumentError(f"ranks and alphas are by regular expressions, got {pattern!r:.60}: {error}") from None


def _by_pattern(patterns, path, default):
    return next((value for pattern, value in patterns.items() if re.fullmatch(rf"(.*\.)?({pattern})", path)), default)

"""The journal of a tuning run: every step, with what it tried, why, and whether it was kept."""

from dataclasses import asdict, dataclass, field


@dataclass
class Edit:
    """What a step tried on one parameter: the data before and after, and the feedback behind it."""

    role: str
    before: object
    after: object
    feedback: list = field(default_factory=list)


@dataclass
class Step:
    """One step, and why it ended as it did.

    `outcome` is "accepted", "rejected", "unchanged" (there was nothing to do) or "failed" (what was proposed could not be used).
    Scores are means over the validation items, `p` the probability of such a gain by chance, corrected for the candidates that it
    was chosen from, `level` what the gate allowed, and `spent` the part of its level that was spent by the end of the step; None
    without validation. `won` and `lost` are the places of the items whose score rose and fell, and `samples` shows some of them
    with the calls behind their scores.
    """

    number: int
    outcome: str
    reason: str = ""
    edits: list = field(default_factory=list)
    before: float | None = None
    after: float | None = None
    p: float | None = None
    level: float | None = None
    won: list = field(default_factory=list)
    lost: list = field(default_factory=list)
    spent: float | None = None
    samples: list = field(default_factory=list)

    @property
    def is_accepted(self):
        """Whether the parameters have changed."""
        return self.outcome == "accepted"

    def to_dict(self):
        """The step as JSON data."""
        return asdict(self)

    @classmethod
    def of(cls, data):
        """The step that `to_dict` described."""
        return cls(**{**data, "edits": [Edit(**edit) for edit in data["edits"]]})

    def __str__(self):
        scores = "" if self.after is None else f" {self.before:.3f} → {self.after:.3f}"
        return f"step {self.number}: {self.outcome}{scores}{f' ({self.reason})' if self.reason else ''}"

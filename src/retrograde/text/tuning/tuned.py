"""What `tune` returns: the tuned prompt as a program, and the evidence for it."""

from pathlib import Path

from ..report.page import page
from .rows import SETS


class Tuned:
    """A prompt that was tuned, as a program: call it with an input, or with a list of them.

    predictor   the program, with its instruction, layout and demonstrations
    run         the Run: steps with their evidence, calls, cost and test scores
    plan        which items were for what
    proposals   the instructions that were proposed, and why others could not be used; None if nobody was asked
    """

    def __init__(self, predictor, run, plan, metric, proposals):
        self.predictor, self.run, self.plan, self.metric, self.proposals = predictor, run, plan, metric, proposals

    def __call__(self, *values, **named):
        return self.predictor(*values, **named)

    @property
    def prompt(self):
        """The instruction, the layout and the demonstrations, as a dictionary."""
        return self.predictor.state_dict()

    @property
    def before(self):
        """The Interval of the test score of the prompt of the start; None if the test was not made."""
        return self._tested(0)

    @property
    def after(self):
        """The Interval of the test score of this prompt; None if the test was not made."""
        return self._tested(1)

    @property
    def gain(self):
        """The Interval of the difference of the two, paired by item; None if the test was not made."""
        return self._tested(2)

    def page(self, title="Tuned prompt", subtitle=""):
        """The report as an HTML page in one file."""
        return page(self.run, title, subtitle or str(self.plan), self.predictor.text_parameters())

    def save(self, path):
        """Write the prompt as JSON; `text.Predictor.load(path, model)` makes a program of it again."""
        self.predictor.save(path)

    def save_report(self, path, title="Tuned prompt", subtitle=""):
        """Write the report."""
        # Half a pair of surrogates, which items may hold, has no form in UTF-8.
        Path(path).write_text(self.page(title, subtitle), encoding="utf-8", errors="replace")

    def to_dict(self):
        """What came out, as JSON data."""
        intervals = {name: None if found is None else list(found)
                     for name, found in (("before", self.before), ("after", self.after), ("gain", self.gain))}
        usage = self.run.usage
        return {"metric": self.metric.name, "test": intervals, "prompt": {**self.prompt, "labels": self.predictor.labels},
                "accepted": len(self.run.accepted), "steps": [step.to_dict() for step in self.run.steps], "ending": self.run.ending,
                "items": {name: len(getattr(self.plan.sets, name)) for name in SETS},
                "smallest_gain": self.plan.gain, "power": self.plan.power,
                "usage": {"calls": usage.calls, "tokens": usage.tokens, "cost": usage.cost, "cached": self.run.cached}}

    def __str__(self):
        if self.gain is None:
            return f"no test was made: {self.run.ending}"
        kept = f"{len(self.run.accepted)} of {len(self.run.steps)} steps kept"
        return (f"{self.metric.name} on {len(self.plan.sets.test)} held-out items: {self.before} → {self.after}, gain {self.gain} "
                f"({kept}, {self.run.usage.calls:,} calls)")

    def __repr__(self):
        return f"Tuned({self})"

    def _tested(self, which):
        test = self.run.test
        if test is None or not any(a is not None and b is not None for a, b in zip(test.before, test.after, strict=True)):
            return None
        return test.intervals()[which]

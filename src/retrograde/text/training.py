"""Training: steps of optimizers of text, with a checkpoint after each, so that an interruption costs nothing."""

import hashlib
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

from ..errors import ArgumentError, BudgetError, CheckpointError
from .evidence.intervals import Interval, difference, mean_interval
from .evidence.samples import answers, sample
from .evidence.validation import Validation, check_apart, key_of, mean, scored
from .files import load, save
from .journal import Step
from .models.base import LanguageModel
from .models.ledger import paid_by
from .models.listeners import telling
from .models.trace import current, tracing
from .models.usage import Totals, Usage
from .optimizer import written
from .paid import Unseen

#: How many test items that changed, and how many that fail, are shown with their calls.
_CHANGED, _FAILING = 12, 6


@dataclass
class Tested:
    """The scores of the test items with the parameters as they were at the start and as they are at the end.

    `items` are the test items, where they are known. Items without an answer have the score None, and are left out of all figures.
    `samples` shows some items with the calls behind their scores: those that changed, what was lost first, and some that fail.
    """

    before: list
    after: list
    items: list = field(default_factory=list)
    samples: list = field(default_factory=list)

    def intervals(self, confidence=0.95) -> tuple[Interval, Interval, Interval]:
        """The mean before, the mean after, and the paired difference, each with its interval."""
        pairs = [(a, b) for a, b in zip(self.before, self.after, strict=True) if a is not None and b is not None]
        if not pairs:
            raise ArgumentError("no test item has an answer both before and after, so that there is nothing to compare")
        before, after = zip(*pairs, strict=True)
        return mean_interval(before, confidence), mean_interval(after, confidence), difference(before, after, confidence)

    def changed(self):
        """(place, score before, score after) of every item whose score is another now."""
        return [(i, a, b) for i, (a, b) in enumerate(zip(self.before, self.after, strict=True)) if a != b]


@dataclass
class Run:
    """A training run: its steps, what its calls took, mean scores, and how it ended.

    `cached` answers came from a cache, and `cut` were empty or cut off by a bound or a filter. `roles` has the Totals of the calls
    by what they were made for, such as "answer" or "feedback to system prompt", and `settings` what the run was made with.
    """

    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cached: int = 0
    scores: dict = field(default_factory=dict)
    ending: str = "not finished"
    test: Tested | None = None
    cut: int = 0
    roles: dict[str, Totals] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def accepted(self):
        """The steps that were kept."""
        return [step for step in self.steps if step.is_accepted]


def train(module, optimizer, closure=None, steps=10, *, checkpoint=None, test=None, patience=None, target=None, on_step=None):
    """Make `steps` steps of an optimizer of the text in `module`, and return the Run.

    closure     computes the loss under the current parameters and calls `backward`; it is given the number of the step
    checkpoint  a JSON file, written after each step. If it exists, the run goes on from there, if it is the same run: the same
                start, items, models and settings. With a cached model, calls of an interrupted step are not paid for twice
    test        a Validation, or a function that gives a score for each item that no step has seen. It is asked once, at the end:
                under the parameters of the start and of the end
    patience    stop after so many steps in a row without one that was accepted
    target      stop when the mean validation score is at least this
    on_step     called with the Run after each step

    The gate of `optimizer` spreads its level over `steps` steps, unless it was told otherwise. A budget that ends stops the run,
    with the parameters as the last accepted step left them.

    >>> class Greeter(rg.text.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.style = rg.text.Parameter("Be brief.", role="style")
    >>> greeter = Greeter()
    >>> held_out = rg.text.Validation(range(8), lambda items: [float("kind" in greeter.style.data)] * len(items))
    >>> group = {"params": [greeter.style], "space": rg.text.Options(["Be brief.", "Be kind."])}
    >>> run = train(greeter, rg.text.DiscreteSearch([group], validate=held_out), steps=3, patience=1)
    >>> greeter.style.data, run.scores, run.ending
    ('Be kind.', {'validation before': 0.0, 'validation after': 1.0}, 'no gain in 1 steps')
    """
    run, outer = Run(), current()
    optimizer.plan(steps)
    run.settings = _settings(module, optimizer, test)
    _check_sets(optimizer, test)
    start, identity = [parameter.data for parameter in optimizer.parameters()], _identity(module, optimizer, test)
    paid = None
    if checkpoint is not None and Path(checkpoint).exists():
        saved: Any = load(checkpoint)
        start, paid = _resume(run, module, optimizer, saved, identity, checkpoint), saved["run"].get("paid")
    unseen = Unseen(module, optimizer, paid)
    keep = lambda: checkpoint is None or _keep(run, module, optimizer, checkpoint, start, identity, meter.paid())
    with telling("run", type(optimizer).__name__) as facts, tracing(outer) as trace, paid_by(unseen.run):
        meter = _Meter(run, trace, unseen)
        try:
            keep()  # what a step has paid that is killed counts from here
            _note_validation(run, "before", optimizer)
            while not (ending := _ending(run, optimizer, steps, patience, target)):
                run.steps.append(_stepped(optimizer, closure, len(run.steps)))
                meter.read()
                keep()
                if on_step is not None:
                    on_step(run)
            run.ending = ending
        except BudgetError as error:
            run.ending = f"the budget ended: {error}"
        finally:
            meter.read()
            keep()
        try:
            _note_validation(run, "after", optimizer)
            _note_test(run, optimizer, test, start)
        except BudgetError as error:
            run.ending = f"{run.ending}; no budget was left for the scores at the end: {error}"
        finally:
            meter.read()
            keep()
            facts.update(_facts(run))
    return run


def _stepped(optimizer, closure, number):
    """The next step."""
    with telling("step", f"step {number + 1}") as facts:
        optimizer.zero_grad()
        step = optimizer.step(None if closure is None else lambda: closure(number))
        found = {"outcome": step.outcome, "reason": step.reason, "before": step.before, "after": step.after, "p": step.p,
                 "level": step.level, "spent": step.spent, "won": len(step.won), "lost": len(step.lost)}
        facts.update(found)
    return step


def _facts(run):
    """What is told of a run when it ends."""
    return {"ending": run.ending, "steps": len(run.steps), "accepted": len(run.accepted), "calls": run.usage.calls,
            "tokens": run.usage.tokens, "cost": run.usage.cost, "cached": run.cached, **run.scores}


class _Meter:
    """Notes on a run what it has used since the meter was made, on top of what it had used before."""

    def __init__(self, run, trace, unseen):
        self._run, self._trace, self._start, self._unseen = run, trace, len(trace.calls), unseen
        self._usage, self._cached, self._cut, self._roles = run.usage, run.cached, run.cut, run.roles

    def read(self):
        calls = self._trace.calls[self._start :]
        done = [call.completion for call in calls if call.completion is not None]
        self._run.usage = self._usage + sum((call.usage for call in calls), self._unseen.usage(calls))
        self._run.cached = self._cached + sum(completion.is_cached for completion in done)
        self._run.cut = self._cut + sum(not completion.is_whole for completion in done)
        self._run.roles = dict(self._roles)
        for call in calls:
            name = call.node or "other"
            self._run.roles[name] = self._run.roles.get(name, Totals()) + Totals.of(call)

    def paid(self):
        """What a checkpoint keeps of what was paid: calls in the ledgers that no trace had count once."""
        return self._unseen.state(self._trace.calls[self._start :])


def _check_sets(optimizer, test):
    """Raise an error if sets whose items are known share one."""
    sets = {"train": getattr(optimizer, "train", None), "validation": optimizer.validate, "test": test}
    check_apart(**{name: found.items for name, found in sets.items() if isinstance(found, Validation)})


def _note_validation(run, when, optimizer):
    """Note the mean validation score of now under `when`, if it is not noted already."""
    scores = optimizer.current_scores()
    if scores is not None:
        run.scores.setdefault(f"validation {when}", mean(scores))


def _note_test(run, optimizer, test, start):
    """Score the test items at the end, under the parameters of the start and of the end."""
    if test is None:
        return
    after, calls = scored(test), _calls_of(test)
    end = [(parameter, parameter.data) for parameter in optimizer.parameters()]
    before, calls_before = after, calls
    if [data for _, data in end] != start:
        try:
            written(list(zip(optimizer.parameters(), start, strict=True)))
            before, calls_before = scored(test), _calls_of(test)
        finally:
            written(end)
    run.test = Tested(before, after, test.items if isinstance(test, Validation) else [])
    run.test.samples = _samples(run.test, calls_before, calls)
    run.scores["test before"], run.scores["test after"] = mean(before), mean(after)


def _calls_of(test):
    return dict(test.calls) if isinstance(test, Validation) else {}


def _samples(test, calls_before, calls):
    """Items that changed, what was lost first, and some that fail, with their calls."""
    number = lambda score: 0.0 if score is None else score
    changed = sorted(test.changed(), key=lambda change: number(change[2]) - number(change[1]))[:_CHANGED]
    same = [(i, a, b) for i, (a, b) in enumerate(zip(test.before, test.after, strict=True)) if a == b]
    failing = [change for change in same if number(change[1]) < 1][:_FAILING]
    answered = answers(calls_before, len(test.before))
    return [sample(test.items[i] if test.items else f"item {i}", a, b, answered[i], calls.get(i))
            for i, a, b in [*changed, *failing]]


def _ending(run, optimizer, steps, patience, target):
    """Why the run is over; an empty string if it is not."""
    scores = optimizer.current_scores()
    if target is not None and scores is not None and mean(scores) >= target:
        return f"a validation score of {target:g} was reached"
    if len(run.steps) >= steps:
        return "all steps made"
    is_stuck = patience is not None and len(run.steps) >= patience and not any(step.is_accepted for step in run.steps[-patience:])
    return f"no gain in {patience} steps" if is_stuck else ""


def _settings(module, optimizer, test):
    """What a run was made with, in words, for its report."""
    gate, found = optimizer.gate, {"optimizer": type(optimizer).__name__}
    if optimizer.validate is not None:
        kind = "strict" if gate.strict else f"seed {gate.seed}"
        found["gate"] = (f"level {gate.level:g} over {gate.steps} steps, {kind}" if gate.level < 1 else
                         "no test, whatever is not worse stays")
    sets = {"training items": getattr(optimizer, "train", None), "validation items": optimizer.validate, "test items": test}
    found.update({name: str(len(part)) for name, part in sets.items() if isinstance(part, Validation)})
    found.update({name: str(getattr(optimizer, name)) for name in ("width", "first", "seed") if hasattr(optimizer, name)})
    found.update({name: model.name for name, model in _models(module, optimizer).items()})
    return {**found, "retrograde": version("retrograde"), "Python": python_version()}


def _identity(module, optimizer, test):
    """What makes a run this one and no other: short descriptions by name, which a checkpoint keeps."""
    sets = {"training items": getattr(optimizer, "train", None), "validation items": optimizer.validate, "test items": test}
    return {
        "optimizer": type(optimizer).__name__,
        "roles": [parameter.role for parameter in optimizer.parameters()],
        **{name: f"{len(found)}, {_digest(found.items)}" for name, found in sets.items() if isinstance(found, Validation)},
        **{f"model {name}": _digest([model.identity]) for name, model in _models(module, optimizer).items()},
        **optimizer.settings(),
        "start": _digest([parameter.data for parameter in optimizer.parameters()]),
    }


def _models(module, optimizer):
    """The models of the module and its parts, and those of the optimizer, by the names that they have there."""
    return {f"{name}.{key}".strip("."): value for name, part in (*module.named_modules(), ("optimizer", optimizer))
            for key, value in vars(part).items() if isinstance(value, LanguageModel)}


def _digest(items):
    return hashlib.sha256("\n".join(map(key_of, items)).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _keep(run, module, optimizer, checkpoint, start, identity, paid):
    """Write the checkpoint."""
    first = {name: score for name, score in run.scores.items() if name == "validation before"}
    facts = {"usage": asdict(run.usage), "cached": run.cached, "cut": run.cut, "scores": first, "start": start,
             "identity": identity, "paid": paid, "roles": {name: asdict(totals) for name, totals in run.roles.items()}}
    save({"module": module.state_dict(), "optimizer": optimizer.state_dict(), "run": facts}, checkpoint)


def _resume(run, module, optimizer, state, identity, path):
    """Go on from a checkpoint of the same run; returns the parameters of its start."""
    facts = state["run"]
    if "identity" not in facts or "run" not in (facts.get("paid") or {}):
        raise CheckpointError(f"{path} was written by an older release, which did not note what run it belongs to; begin a new one")
    saved = facts["identity"]
    other = [f"{name} ({saved.get(name, 'none')}, now {identity.get(name, 'none')})" for name in {**saved, **identity}
             if saved.get(name) != identity.get(name)]
    if other:
        raise CheckpointError(f"{path} belongs to another run: other {', '.join(other)}; give the same start, items, models and "
                              "settings, or another file")
    module.load_state_dict(state["module"])
    optimizer.load_state_dict(state["optimizer"])
    run.steps, run.scores = list(optimizer.journal), facts["scores"]
    run.usage, run.cached, run.cut = Usage(**facts["usage"]), facts["cached"], facts["cut"]
    run.roles = {name: Totals(**totals) for name, totals in facts.get("roles", {}).items()}
    return facts["start"]

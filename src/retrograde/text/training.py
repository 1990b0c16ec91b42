"""Training: steps of optimizers of text, with a checkpoint after each, so that an interruption costs nothing."""

from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..errors import BudgetError
from .files import load, save
from .journal import Step
from .models.budget import Usage
from .models.trace import current, tracing


@dataclass
class Run:
    """A training run: its steps, what its calls took, how many answers came from a cache, mean scores, and how it ended."""

    steps: list[Step] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cached: int = 0
    scores: dict = field(default_factory=dict)
    ending: str = "not finished"

    @property
    def accepted(self):
        """The steps that were kept."""
        return [step for step in self.steps if step.is_accepted]


def train(module, optimizer, closure=None, steps=10, *, checkpoint=None, test=None, patience=None, target=None, on_step=None):
    """Make `steps` steps of an optimizer of the text in `module`, and return the Run.

    closure     computes the loss under the current parameters and calls `backward`; it is given the number of the step
    checkpoint  a JSON file, written after each step. If it exists, the run goes on from there; with a cached model, calls
                of an interrupted step are not paid for twice
    test        gives a score for each item that no step has seen; called at the start and at the end
    patience    stop after so many steps in a row without one that was accepted
    target      stop when the mean validation score is at least this
    on_step     called with the Run after each step

    A budget that ends stops the run, with the parameters as the last accepted step left them.

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
    if checkpoint is not None and Path(checkpoint).exists():
        _resume(run, module, optimizer, load(checkpoint))
    with tracing(outer) as trace:
        meter = _Meter(run, trace)
        try:
            _score(run, "before", optimizer, test)
            while not (ending := _ending(run, optimizer, steps, patience, target)):
                optimizer.zero_grad()
                number = len(run.steps)
                run.steps.append(optimizer.step(None if closure is None else lambda number=number: closure(number)))
                meter.read()
                _keep(run, module, optimizer, checkpoint)
                if on_step is not None:
                    on_step(run)
            run.ending = ending
            _score(run, "after", optimizer, test)
        except BudgetError as error:
            run.ending = f"the budget ended: {error}"
        finally:
            meter.read()
            _keep(run, module, optimizer, checkpoint)
    return run


class _Meter:
    """Notes on a run what it has used since the meter was made, on top of what it had used before."""

    def __init__(self, run, trace):
        self._run, self._trace, self._start = run, trace, len(trace.calls)
        self._usage, self._cached = run.usage, run.cached

    def read(self):
        done = [call.completion for call in self._trace.calls[self._start :] if call.completion is not None]
        fresh = [completion for completion in done if not completion.is_cached]
        tokens, cost = sum(completion.tokens for completion in fresh), sum(completion.cost for completion in fresh)
        self._run.usage = self._usage + Usage(len(fresh), tokens, cost)
        self._run.cached = self._cached + len(done) - len(fresh)


def _score(run, when, optimizer, test):
    """Note the mean scores of now under `when`, as far as they are not noted already."""
    validation = optimizer.current_scores()
    if validation is not None:
        run.scores.setdefault(f"validation {when}", sum(validation) / len(validation))
    if test is not None and f"test {when}" not in run.scores:
        scores = list(test())
        run.scores[f"test {when}"] = sum(scores) / len(scores)


def _ending(run, optimizer, steps, patience, target):
    """Why the run is over; an empty string if it is not."""
    scores = optimizer.current_scores()
    if target is not None and scores is not None and sum(scores) >= target * len(scores):
        return f"a validation score of {target:g} was reached"
    if len(run.steps) >= steps:
        return "all steps made"
    is_stuck = patience is not None and len(run.steps) >= patience and not any(step.is_accepted for step in run.steps[-patience:])
    return f"no gain in {patience} steps" if is_stuck else ""


def _keep(run, module, optimizer, checkpoint):
    """Write the checkpoint."""
    if checkpoint is not None:
        first = {name: score for name, score in run.scores.items() if name.endswith("before")}
        facts = {"usage": asdict(run.usage), "cached": run.cached, "scores": first}
        save({"module": module.state_dict(), "optimizer": optimizer.state_dict(), "run": facts}, checkpoint)


def _resume(run, module, optimizer, state):
    """Go on from a checkpoint."""
    module.load_state_dict(state["module"])
    optimizer.load_state_dict(state["optimizer"])
    run.steps, run.scores = list(optimizer.journal), state["run"]["scores"]
    run.usage, run.cached = Usage(**state["run"]["usage"]), state["run"]["cached"]

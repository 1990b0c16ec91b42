"""The base of optimizers of text: groups of parameters, a journal, and the gate that every candidate passes through."""

from collections.abc import Mapping
from typing import Any

from ..core.mode import no_grad
from ..errors import CheckpointError, DTypeError, GraphError
from ..optim.optimizer import Optimizer
from .algebra import texts
from .evidence.gate import Gate
from .evidence.samples import SHOWN, answers, sample
from .evidence.validation import Validation, scored
from .journal import Edit, Step


class TextOptimizer(Optimizer):
    """Base of optimizers of text, in the shape of the numeric ones.

    `validate` is a Validation, or a function that gives a score for each of some fixed items under the current parameters; a
    candidate stays only if it passes the `gate`, compared item by item. Without `validate` every candidate stays. `level` is the
    probability that a run of `steps` steps in which nothing is better accepts anything; `text.train` tells how many it will make
    where `steps` is None; `strict` is the gate's too. `journal` holds all steps. A subclass defines `_propose`, or a `step` of its
    own.
    """

    always = ()

    def __init__(self, params, defaults, validate=None, level=0.05, steps=None, strict=False):
        self.validate: Any = validate
        gate = Gate(level, strict=strict)
        self.gate = gate if steps is None else gate.over(steps)
        self._is_planned = steps is not None
        self.journal: list[Step] = []
        self._scores = None
        self._answers: list = []  # those behind the scores, as far as they are known
        self._faults: list[str] = []
        super().__init__(params, defaults)

    def _check_parameter(self, parameter):
        """Raise an error unless this optimizer can update `parameter`."""
        if not isinstance(parameter, texts.kind):
            raise DTypeError(f"an optimizer of text updates text variables, got {type(parameter).__name__}")
        if not parameter.is_leaf or not parameter.requires_grad:
            raise GraphError(f"an optimizer of text updates leaves with requires_grad=True, and {parameter.role!r} is none")

    def parameters(self):
        """All parameters, in order."""
        return [parameter for group in self.param_groups for parameter in group["params"]]

    def zero_grad(self, set_to_none=True):
        """Forget the feedback of all parameters."""
        for parameter in self.parameters():
            parameter.zero_grad()

    def step(self, closure=None):
        """Propose new data for the parameters from their feedback, and keep it if it passes the gate; returns the Step.

        `closure`, if given, is called first: it computes the loss and calls `backward`.
        """
        if closure is not None:
            closure()
        edits = self._propose()
        changed = [(p, edit) for p, edit in edits if edit.after != edit.before]
        if not changed:
            return self.nothing_new([edit for _, edit in edits])
        return self.tried([(p, edit.after) for p, edit in changed], [edit for _, edit in edits])

    def nothing_new(self, edits):
        """The Step of a proposal that changes nothing: "failed" where that is because what was proposed could not be used."""
        if self._faults:
            return self.noted("failed", "; ".join(dict.fromkeys(self._faults)), edits)
        if edits:
            return self.noted("unchanged", "nothing new was proposed", edits)
        lost = [str(error) for parameter in self.parameters() for given in parameter.grad for error in given.failures.values()]
        if lost:
            return self.noted("failed", f"no feedback came: {lost[0]}{f', and {len(lost) - 1} more' if lost[1:] else ''}")
        return self.noted("unchanged", "no parameter received feedback")

    def _propose(self):
        """(parameter, Edit) pairs: what to try in this step. `_faults` takes up why there is none for a parameter."""
        raise NotImplementedError(f"{type(self).__name__} needs a method _propose")

    def plan(self, steps):
        """Spread the level of the gate over `steps` steps, unless they were given or one has been made."""
        if not self._is_planned and not self.gate.made and steps:
            self.gate = self.gate.over(steps)

    # The gate.
    def tried(self, changes, edits, reason=""):
        """The Step of setting parameters to new data: kept if it passes the gate, else undone. Undone on errors too."""
        before = self.current_scores()
        old = [(parameter, parameter.data) for parameter, _ in changes]
        try:
            written(changes)
            after = None if self.validate is None else scored(self.validate)
            calls = self._seen_calls()
        except BaseException:
            written(old)
            raise
        if after is None:
            return self.noted("accepted", reason or "no validation was asked for", edits)
        written(old)
        return self.decided(changes, edits, after, self.gate.decide(before, after, units=self.units()), reason, calls)

    def decided(self, changes, edits, after, decision, reason="", calls=None):
        """The Step that a Decision leads to: the new data are written, with `after` as their scores, or remembered as rejected.

        `calls` are those behind the new scores, by item.
        """
        samples = self._samples(decision, after, calls or {})
        if decision.is_accepted:
            written(changes)
            self._scores, self._answers = after, answers(calls or {}, len(after))
        else:
            for parameter, data in changes:
                self.remembered(parameter).setdefault("rejected", []).append(data)
        outcome = "accepted" if decision.is_accepted else "rejected"
        return self.noted(outcome, "; ".join(filter(None, [reason, str(decision)])), edits, decision, samples)

    def _samples(self, decision, after, calls):
        """Some items that were won and lost, with the calls behind their scores."""
        items = self.validate.items if isinstance(self.validate, Validation) else None
        before: Any = self.current_scores()
        answered = self._answers or [None] * len(after)
        return [sample(f"item {i}" if items is None else items[i], before[i], after[i], answered[i], calls.get(i))
                for i in (*decision.lost[:SHOWN], *decision.won[:SHOWN])]

    def _seen_calls(self):
        """The calls behind the scores of the last validation, by item."""
        return dict(self.validate.calls) if isinstance(self.validate, Validation) else {}

    def current_scores(self):
        """The scores of the current parameters, computed once, but for items that had no answer; None without validation."""
        if self.validate is None:
            return None
        if self._scores is None:
            self._scores = scored(self.validate)
            self._answers = answers(self._seen_calls(), len(self._scores))
        missing = [i for i, score in enumerate(self._scores) if score is None]
        if missing and isinstance(self.validate, Validation):
            for i, score in zip(missing, self.validate.attempted(missing), strict=True):
                self._scores[i] = score
        return self._scores

    def units(self):
        """For each validation item a number that repeated items share; None where the items are not known."""
        return self.validate.units if isinstance(self.validate, Validation) else None

    def forget_scores(self):
        """Forget the scores of the current parameters, because something else that they depend on has changed: weights."""
        self._scores = None

    def remembered(self, parameter):
        """The state of one parameter, a dictionary of JSON data."""
        return self.state.setdefault(parameter, {})

    def noted(self, outcome, reason="", edits=(), decision=None, samples=()):
        """A new step in the journal."""
        found = {} if decision is None else {name: getattr(decision, name) for name in ("before", "after", "p", "level")}
        if decision is not None:
            found.update(won=list(decision.won), lost=list(decision.lost), spent=self.gate.spent(), samples=list(samples))
        step = Step(len(self.journal) + 1, outcome, reason, list(edits), **found)
        self.journal.append(step)
        return step

    def settings(self):
        """What decides on the steps beside parameters, items, models and gate, in words that are the same in any process."""
        own = {name: value for name, value in vars(self).items() if name == "options" or isinstance(value, int)}
        groups = [(name, value) for group in self.param_groups for name, value in group.items() if name != "params"]
        shared = {name: [value for other, value in groups if other == name] for name, _ in groups}
        return {name: _described(value) for name, value in {**own, **shared}.items() if not name.startswith("_")}

    # Saving and loading.
    def state_dict(self):
        """All that a later step depends on, except the parameters themselves, as JSON data."""
        numbers = {parameter: i for i, parameter in enumerate(self.parameters())}
        return {
            "state": {str(numbers[p]): dict(state) for p, state in self.state.items()},
            "param_groups": [{"params": [numbers[p] for p in group["params"]]} for group in self.param_groups],
            "journal": [step.to_dict() for step in self.journal],
            "scores": self._scores,
            "answers": self._answers,
            "gate": self.gate.state_dict(),
        }

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` gave, of an optimizer of as many parameters; options stay those of this one."""
        own = [len(group["params"]) for group in self.param_groups]
        saved = [len(group["params"]) for group in state_dict["param_groups"]]
        if own != saved:
            raise CheckpointError(f"the saved optimizer has groups of {saved} parameters, and this one of {own}")
        gate = self.gate.over(self.gate.steps if self._is_planned else state_dict["gate"]["steps"])
        gate.load_state_dict(state_dict["gate"])
        parameters = self.parameters()
        self.gate = gate
        self.state = {parameters[int(i)]: dict(state) for i, state in state_dict["state"].items()}
        self.journal = [Step.of(step) for step in state_dict["journal"]]
        self._scores, self._answers = state_dict["scores"], state_dict.get("answers", [])


def _described(value):
    """What stands for `value` in every process: functions and classes have names, other objects a kind."""
    if isinstance(value, Mapping):
        return {str(name): _described(part) for name, part in sorted(value.items())}
    if isinstance(value, (list, tuple)):
        return [_described(part) for part in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return getattr(value, "__qualname__", type(value).__qualname__)


def edit_of(parameter, after):
    """The Edit that sets `parameter` to `after` because of its feedback."""
    return Edit(parameter.role, parameter.data, after, [feedback.data for feedback in parameter.grad])


def written(changes):
    """Set each parameter to its new data."""
    with no_grad():
        for parameter, data in changes:
            parameter.data = data

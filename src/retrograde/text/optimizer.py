"""The base of optimizers of text: groups of parameters, a journal, and the gate that every candidate passes through."""

from typing import Any

from ..core.mode import no_grad
from ..errors import CheckpointError, DTypeError, GraphError
from ..optim.optimizer import Optimizer
from .algebra import texts
from .gate import compare
from .journal import Edit, Step


class TextOptimizer(Optimizer):
    """Base of optimizers of text, in the shape of the numeric ones.

    `validate()` gives a score for each of some fixed items under the current parameters (a Validation, or any function); a
    candidate stays only if it passes the gate at `level`, compared item by item. Without `validate` every candidate stays.
    `journal` holds all steps. A subclass defines `_propose`, or a `step` of its own.
    """

    always = ()

    def __init__(self, params, defaults, validate=None, level=0.25):
        self.validate: Any = validate
        self.level = level
        self.journal: list[Step] = []
        self._scores = None
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
        return self.noted("unchanged", "nothing new was proposed" if edits else "no parameter received feedback", edits)

    def _propose(self):
        """(parameter, Edit) pairs: what to try in this step. `_faults` takes up why there is none for a parameter."""
        raise NotImplementedError(f"{type(self).__name__} needs a method _propose")

    # The gate.
    def tried(self, changes, edits, reason="", known=None):
        """The Step of setting parameters to new data: kept if it passes the gate, else undone. Undone on errors too.

        `known` are scores of the new data by place, which are not computed again.
        """
        before = self.current_scores()
        old = [(parameter, parameter.data) for parameter, _ in changes]
        try:
            written(changes)
            after = None if self.validate is None else self._scored(known)
        except BaseException:
            written(old)
            raise
        if after is None:
            return self.noted("accepted", reason or "no validation was asked for", edits)
        decision = compare(before, after, self.level)
        if decision.is_accepted:
            self._scores = after
        else:
            written(old)
            for parameter, data in changes:
                self.remembered(parameter).setdefault("rejected", []).append(data)
        outcome = "accepted" if decision.is_accepted else "rejected"
        why = "; ".join(filter(None, [reason, _why(decision, self.level)]))
        return self.noted(outcome, why, edits, *decision[1:])

    def current_scores(self):
        """The scores of the current parameters, computed once; None without validation."""
        if self._scores is None and self.validate is not None:
            self._scores = self.validate()
        return self._scores

    def _scored(self, known):
        """The scores of the parameters as they are now."""
        if not known:
            return self.validate()
        missing = [i for i in range(len(self.validate)) if i not in known]
        scores = {**known, **dict(zip(missing, self.validate(missing) if missing else (), strict=True))}
        return [scores[i] for i in range(len(self.validate))]

    def forget_scores(self):
        """Forget the scores of the current parameters, because something else that they depend on has changed: weights."""
        self._scores = None

    def remembered(self, parameter):
        """The state of one parameter, a dictionary of JSON data."""
        return self.state.setdefault(parameter, {})

    def noted(self, outcome, reason="", edits=(), before=None, after=None, p=None):
        """A new step in the journal."""
        step = Step(len(self.journal) + 1, outcome, reason, list(edits), before, after, p)
        self.journal.append(step)
        return step

    # Saving and loading.
    def state_dict(self):
        """All that a later step depends on, except the parameters themselves, as JSON data."""
        numbers = {parameter: i for i, parameter in enumerate(self.parameters())}
        return {
            "state": {str(numbers[p]): dict(state) for p, state in self.state.items()},
            "param_groups": [{"params": [numbers[p] for p in group["params"]]} for group in self.param_groups],
            "journal": [step.to_dict() for step in self.journal],
            "scores": self._scores,
        }

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` gave, of an optimizer of as many parameters; options stay those of this one."""
        own = [len(group["params"]) for group in self.param_groups]
        saved = [len(group["params"]) for group in state_dict["param_groups"]]
        if own != saved:
            raise CheckpointError(f"the saved optimizer has groups of {saved} parameters, and this one of {own}")
        parameters = self.parameters()
        self.state = {parameters[int(i)]: dict(state) for i, state in state_dict["state"].items()}
        self.journal = [Step.of(step) for step in state_dict["journal"]]
        self._scores = state_dict["scores"]


def edit_of(parameter, after):
    """The Edit that sets `parameter` to `after` because of its feedback."""
    return Edit(parameter.role, parameter.data, after, [feedback.data for feedback in parameter.grad])


def written(changes):
    """Set each parameter to its new data."""
    with no_grad():
        for parameter, data in changes:
            parameter.data = data


def _why(decision, level):
    chance = f"p = {decision.p:.3f}" if decision.p >= 0.0005 else "p < 0.001"
    if decision.is_accepted:
        return f"better on the held-out items, {chance}"
    if decision.after < decision.before:
        return "worse on the held-out items"
    return f"not better than by chance, {chance} with a level of {level}"

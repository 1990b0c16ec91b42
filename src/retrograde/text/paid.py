"""What a run has paid that its trace does not show: the calls of processes that were killed, as ledgers have them."""

import uuid
from dataclasses import asdict

from .models.base import LanguageModel, Wrapper
from .models.budget import Budgeted
from .models.usage import Usage


class Unseen:
    """Compares what the ledgers of a run's models say with what its traces had of these models.

    A run that is killed loses the trace of the step that it was in, and what that step paid stays in the ledger, under the name of
    the run: other runs that share the ledger have names of their own.
    """

    def __init__(self, module, optimizer, state=None):
        layers = [layer for owner in (*(part for _, part in module.named_modules()), optimizer) for model in vars(owner).values()
                  if isinstance(model, LanguageModel) for layer in _layers(model)]
        budgets = [layer.budget for layer in layers if isinstance(layer, Budgeted) and layer.budget.ledger is not None]
        self._names = {layer.name for layer in layers if isinstance(layer, Budgeted) and layer.budget.ledger is not None}
        self._budgets = {(str(budget.ledger), budget.scope): budget for budget in budgets}
        self.run = uuid.uuid4().hex if state is None else state["run"]
        self._seen = Usage() if state is None else Usage(**state["seen"])

    def usage(self, calls):
        """What was paid beyond the `calls` of the trace, and beyond those of earlier traces."""
        if not self._budgets:
            return Usage()
        rest = self._spent() - self._traced(calls)
        return Usage(max(rest.calls, 0), max(rest.tokens, 0), max(rest.cost, 0.0))

    def state(self, calls):
        """What a checkpoint keeps, as JSON data: the name of the run, and what is accounted for."""
        return {"run": self.run, "seen": asdict(self._traced(calls) + self.usage(calls))}

    def _traced(self, calls):
        return sum((call.usage for call in calls if call.model in self._names), self._seen)

    def _spent(self):
        return sum((budget.spent_by(self.run) for budget in self._budgets.values()), Usage())


def _layers(model):
    """A model and all that it is around."""
    yield model
    while isinstance(model, Wrapper):
        model = model.model
        yield model

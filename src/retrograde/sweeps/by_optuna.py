"""By Optuna: trials whose points its samplers choose, and which its pruners may give up; all processes share one journal."""

import time
from typing import Any

from ..extras import optional
from .space import suggested


class Study:
    """A study that workers open by its journal, a file in the folder of the sweep."""

    def __init__(self, place, space, sampler, pruner, mode):
        self._path, self._space, self._sampler, self._pruner = str(place / "optuna.log"), space, sampler, pruner
        self._direction = "minimize" if mode == "min" else "maximize"
        self._opened()

    def _opened(self):
        optuna: Any = optional("optuna", "sweep")
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(self._path))
        return optuna, optuna.create_study(storage=storage, sampler=self._sampler, pruner=self._pruner, direction=self._direction,
                                           study_name="sweep", load_if_exists=True)

    def tried(self, number, function, point_of):
        """(number, point, value, error, seconds) of a trial at the point that the sampler chooses now."""
        optuna, study = self._opened()
        trial, start, steps = study.ask(), time.perf_counter(), []
        point = suggested(self._space, trial)

        def report(value):
            trial.report(value, len(steps))
            steps.append(value)
            if trial.should_prune():
                raise optuna.TrialPruned

        value, error = None, None
        try:
            value = float(function(point_of(point, report)))
            study.tell(trial, value)
        except optuna.TrialPruned:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        except Exception as caught:  # noqa: BLE001 - the other trials go on, and it is told with the trial
            error = f"{type(caught).__name__}: {caught}"
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return number, point, value, error, time.perf_counter() - start

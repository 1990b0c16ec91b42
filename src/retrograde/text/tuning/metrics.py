"""How good answers are: chosen labels, exact answers, words in common, a judge, or a function of the user."""

from typing import Any

import numpy as np

from ...errors import ArgumentError, DTypeError
from ..evaluate import evaluate
from ..evaluators import exact_match, f1
from ..judge import judge as judged
from ..models.base import check_model

#: The metrics that have names.
METRICS = ("labels", "exact", "f1", "judge")
#: More different answers than these are no choice among labels.
_MOST_LABELS = 50
_CRITERIA = "It says the same as the right answer, and nothing that is wrong."


class Metric:
    """The score of each of some items under the prompt of a Predictor.

    metric    a name of METRICS, a function of (answer, right answer) that returns a score from 0 to 1, or a pair of it and an
              explanation; None: "judge" if there is a judge, "labels" if the answer's column is "label", and else "exact"
    rows      of the task: the labels are all the answers in it
    judge     the model that judges, by `criteria`

    `labels` are those to choose among, empty for other metrics; `calls` is the most calls that one item takes.
    """

    def __init__(self, metric, rows, judge=None, criteria=None):
        if metric is None:
            metric = "judge" if judge is not None else "labels" if rows.answer == "label" else "exact"
        if metric not in METRICS and not callable(metric):
            raise ArgumentError(f"a metric is one of {', '.join(METRICS)}, or a function of (answer, right answer), got "
                                f"{metric!r:.60}")
        if metric == "judge":
            if judge is None:
                raise ArgumentError('metric="judge" needs a judge: a model that finds how good an answer is, which may be the same')
            check_model(judge)
        elif judge is not None or criteria is not None:
            raise ArgumentError(f'a judge and criteria go with metric="judge", got metric={metric!r:.60}')
        if rows.answer is None and (metric != "judge" or not criteria):
            raise ArgumentError("items without right answers need metric=\"judge\", a judge and criteria, which say what is good")
        self.kind: Any = metric
        self.judge, self.criteria = judge, criteria or _CRITERIA
        self._has_answers = rows.answer is not None
        self.labels = _labels(rows) if metric == "labels" else []
        # A judge is asked once more if its reply is no verdict.
        self.calls = 3 if metric == "judge" else 1

    @property
    def name(self):
        """The metric in words."""
        if not isinstance(self.kind, str):
            return getattr(self.kind, "__name__", "own function")
        return {"labels": "accuracy", "exact": "accuracy", "f1": "F1", "judge": "judge's score"}[self.kind]

    def scores(self, predictor, items, model=None, judge=None):
        """The score of each item, None where it has no answer; by other models than the usual ones, if they are given."""
        answers, right = predictor.forward(items, model), [item[-1] for item in items]
        if self.kind == "judge":
            return judged(judge or self.judge, answers, self.criteria, target=right if self._has_answers else None).scores
        if self.kind == "labels":
            # An answer is one of the labels, which may differ by case alone.
            return exact_match(answers, right, normalize=None).scores
        if self.kind == "exact":
            return exact_match(answers, right).scores
        if self.kind == "f1":
            return f1(answers, right).scores
        return evaluate(answers, right, self._own, name=self.name).scores

    def finer(self, predictor, items, judge=None):
        """Scores that tell more on few items, by which a search compares: of labels also how sure the model is of them."""
        if self.labels and predictor.model.tells_logprobs:
            return predictor.certainty(items)
        return self.scores(predictor, items, judge=judge)

    def _own(self, answer, right):
        found = self.kind(answer, right)
        score = found[0] if isinstance(found, tuple) else found
        score = score.item() if isinstance(score, np.generic) else score
        if not isinstance(score, (int, float)) or not 0 <= score <= 1:
            raise DTypeError(f"{self.name} must return a number from 0 to 1, or such a number and an explanation, got "
                             f"{found!r:.60}")
        return (score, *found[1:]) if isinstance(found, tuple) else score


def _labels(rows):
    labels = sorted({item[-1] for item in rows.all})
    if not 2 <= len(labels) <= _MOST_LABELS:
        raise ArgumentError(f"a choice among labels needs 2 to {_MOST_LABELS} of them, and {rows.answer!r} has {len(labels)}; for "
                            'free answers take metric="exact"')
    return labels

"""Evaluators: a score for each sample and, as feedback, an explanation of what was wrong."""

from functools import partial
from typing import NamedTuple

from ..core.value import Value
from ..errors import DTypeError, ModelError, ShapeError
from ..workers import results
from .algebra import Critic, Feedback, Gathering, texts
from .basics import check_variables
from .data import as_text, is_number
from .evidence.validation import mean
from .variable import Variable
from .wording import handed, prompt


class Evaluation(NamedTuple):
    """What an evaluator found: a score and an explanation for each sample; `backward()` hands the explanations back."""

    score: Variable
    explanation: Variable

    @property
    def scores(self):
        """The scores, a list of numbers; None for samples without an answer, since their call failed."""
        return self.score.data if self.score.is_batch else [self.score.data]

    @property
    def mean(self):
        """The mean score of the samples that have an answer; NaN if there are none."""
        return mean(self.scores)

    def backward(self, gradient=None, retain_graph=None):
        """Hand the explanations back to what the prediction was made from; nothing for samples that succeeded."""
        self.explanation.backward(gradient, retain_graph)


class Evaluate(Gathering, Critic):
    """Score and explanation of a prediction: see `evaluate`."""

    @staticmethod
    def forward(ctx, prediction, target, verdicts, name):
        check_variables(name, (prediction,))
        pairs = samples(prediction, target, name)
        found = verdicts([(p, t, prediction.failures.get(i)) for i, (p, t) in enumerate(pairs)])
        ctx.role, ctx.name, ctx.is_batch = prediction.role, name, prediction.is_batch
        ctx.verdicts = found
        ctx.said = ["" if verdict.is_success else verdict.explanation for verdict in found]
        scores, words = [verdict.score for verdict in found], [verdict.explanation for verdict in found]
        if not prediction.is_batch:
            (scores,), (words,) = scores, words
        return (texts.kind(scores, f"{name} score of {prediction.role}"),
                texts.kind(words, f"{name} explanation of {prediction.role}"))

    @staticmethod
    def backward(ctx, *feedback):
        arrived = [f for given in feedback for f in given]
        said = _by_derivatives(ctx, [f.data for f in feedback[0]]) if not feedback[1] else ctx.said
        if not arrived or not any(said):
            return None, None, None, None
        return Feedback((handed(arrived[0], said if ctx.is_batch else said[0], ctx.role, ctx.name),)), None, None, None


class Verdict(NamedTuple):
    """What was found of one sample; the score is None where there is nothing to score."""

    score: float | None
    explanation: str
    is_success: bool


def evaluate(prediction, target, function, *, name="evaluation", is_success=None, backend=None, workers=None):
    """The score and explanation that `function(prediction, target)` gives for each sample, as an Evaluation.

    `function` sees plain data and returns a number (or a truth), or a pair of a number and an explanation. Backward hands the
    explanation of each sample to the prediction, and nothing where `is_success(score)` holds; without it, where the score is
    1 or more. An answer that could not be read scores 0; a sample without an answer, since its call failed, has no score: None.

    Where `function` takes long, as one that runs programs, processes share the samples: `backend` "joblib" or "dask", `workers` how
    many, as in `rg.sweep`. By default this process takes them in order.

    >>> answers = rg.text.Variable(["4", "5"], role="answer", requires_grad=True)
    >>> found = rg.text.evaluate(answers, ["4", "6"], lambda p, t: (p == t, f"it is {t}"))
    >>> found.scores, found.mean
    ([1.0, 0.0], 0.5)
    >>> found.backward()
    >>> answers.grad[0].data
    ['', 'it is 6']
    """
    succeeds = is_success or (lambda score: score >= 1)

    def judge(p, t):
        found = function(p, t)
        score, explanation = found if isinstance(found, tuple) else (found, f"score {found} for {as_text(p)!r}")
        if not isinstance(score, (int, float)):
            raise DTypeError(f"{name} must return a number, or a number and an explanation, got {score!r:.60}")
        return Verdict(float(score), explanation, succeeds(score))

    return Evaluation(*Evaluate.apply(prediction, target, partial(verdicts_of, judge, backend, workers), name))


def verdicts_of(judge, backend, workers, given):
    """The verdicts of samples, each as (prediction, target, why there is no prediction), by `judge(prediction, target)`."""
    found = dict(results(partial(_judged, judge), given, backend, workers))
    return [found[i] for i in range(len(given))]


def _by_derivatives(ctx, given):
    """The explanations, as far as derivatives of a loss in the scores ask for them; all where none is a number."""
    numbers = [data if isinstance(data, list) else [data] * len(ctx.said) for data in given]
    if not numbers or not all(is_number(x) for row in numbers for x in row):
        return ctx.said
    slopes = [sum(column) for column in zip(*numbers, strict=True)]
    return [said if slope < 0 else "" if slope == 0 else
            prompt("lower_score", derivative=f"{slope:+.3g}", explanation=verdict.explanation)
            for said, slope, verdict in zip(ctx.said, slopes, ctx.verdicts, strict=True)]


def _judged(judge, sample):
    prediction, target, failure = sample
    if isinstance(failure, ModelError):
        # Nothing is known of the prompt, so there is neither a score nor anything to criticise.
        return Verdict(None, f"there is no answer: {failure}", True)
    if prediction is None:
        return Verdict(0.0, f"there is no answer: {failure or 'the sample is missing'}", False)
    return judge(prediction, target)


def samples(prediction, target, name):
    """(prediction, target) of each sample; one target may stand for all."""
    target = target.data if isinstance(target, Value) else target
    if not prediction.is_batch:
        return [(prediction.data, target)]
    targets = target if isinstance(target, (list, tuple)) else [target] * len(prediction.data)
    if len(targets) != len(prediction.data):
        raise ShapeError(f"{name} needs one target for each prediction, got {len(targets)} for {len(prediction.data)}")
    return list(zip(prediction.data, targets, strict=True))

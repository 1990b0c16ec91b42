"""A language model as the judge of answers: its critique is the feedback."""

from functools import partial
from math import isfinite

from ..errors import AnswerError, ModelError, ParseError
from .basics import check_variables
from .chat import answered
from .data import as_text
from .evaluate import Evaluate, Evaluation, Verdict, samples, verdicts_of
from .models.request import Request
from .parsing import objects
from .tags import escaped, nonce
from .wording import prompt

#: The form of a judge's reply, as a JSON schema.
VERDICT = {"type": "object", "properties": {"score": {"type": "number"}, "critique": {"type": "string"}},
           "required": ["score", "critique"]}


def judge(model, prediction, criteria, *, target=None, is_success=None, retries=1, **options):
    """How good `model` finds each prediction by `criteria`, from 0 to 1, and its critique, as an Evaluation.

    target      the right answer, for comparison: one for all, or one for each sample
    is_success  whether a score needs no feedback; default: 1 or more
    retries     how often a reply that is no verdict is sent back with what was wrong
    options     of the calls, such as temperature=0 or json_schema=text.VERDICT where the model can keep to one

    Backward hands the critique of each sample to the prediction. A verdict is one JSON object with a number from 0 to 1. A sample
    whose judge gave none has no score (None), and its explanation says why: nothing is known of it.

    >>> from retrograde.text.models import ScriptedLM
    >>> reply = rg.text.Variable("It is big.", role="description", requires_grad=True)
    >>> verdict = rg.text.judge(ScriptedLM(['{"score": 0.2, "critique": "Say how big."}']), reply, "precise")
    >>> verdict.backward()
    >>> verdict.score.data, reply.grad[0].data
    (0.2, 'Say how big.')
    """
    check_variables("judge", (prediction,))
    requests = [None if p is None else _request(prediction.role, as_text(criteria), p, t, options)
                for p, t in samples(prediction, target, "judge")]
    succeeds = is_success or (lambda score: score >= 1)
    found = _verdicts(model, requests, f"judge of {prediction.role}", succeeds, retries)
    if not prediction.is_batch and isinstance(found[0], ModelError):
        raise found[0]
    verdicts = iter([_without(verdict) if isinstance(verdict, ModelError) else verdict for _, verdict in sorted(found.items())])
    return Evaluation(*Evaluate.apply(prediction, None, partial(verdicts_of, lambda p, t: next(verdicts), None, None), "judge"))


def _verdicts(model, requests, node, succeeds, retries):
    """For each place of a request its Verdict, or the ModelError that is there instead."""
    found, talks = {}, {i: request for i, request in enumerate(requests) if request is not None}
    for left in range(retries, -1, -1):
        answers, failures = answered(model, [talks.get(i) for i in range(len(requests))], node, raises=left == retries)
        found.update({i: failures[i] for i in talks if i in failures})
        faults = {}
        for i in talks.keys() - failures.keys():
            try:
                found[i] = _verdict(answers[i], succeeds)
            except ParseError as error:
                faults[i] = error
        if not left or not faults:
            found.update({i: AnswerError(f"the judge gave no verdict: {fault}") for i, fault in faults.items()})
            return found
        talks = {i: _again(talks[i], answers[i], fault) for i, fault in sorted(faults.items())}
    return found


def _request(role, criteria, answer, target, options):
    code = nonce(role, criteria, answer, target)
    context = prompt("judge_target", target=escaped(target), nonce=code) if target is not None else ""
    question = prompt("judge", role=role, criteria=criteria, context=context, answer=escaped(answer), nonce=code)
    return Request.of([("system", prompt("judge_system")), ("user", question)], **options)


def _again(request, answer, fault):
    """The request with the reply that could not be used, and what was wrong with it."""
    said = [*request.messages, ("assistant", answer or " "), ("user", prompt("complaint", fault=fault))]
    options = {name: getattr(request, name) for name in type(request).__match_args__[1:]}
    return Request.of(said, **options)


def _verdict(answer, succeeds):
    """The Verdict in a reply; a ParseError unless it holds exactly one, so that none which is quoted counts."""
    found = [reply for reply in objects(answer) if "score" in reply]
    if len(found) != 1:
        raise ParseError(f"it must hold one JSON object with a score, and holds {len(found)}")
    score = found[0]["score"]
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not isfinite(score) or not 0 <= score <= 1:
        raise ParseError(f"the score must be a number from 0 to 1, got {score!r:.40}")
    critique = as_text(found[0].get("critique"))
    return Verdict(float(score), critique or f"score {score:g}", succeeds(score) or not critique)


def _without(failure):
    """What is known of a sample that was not judged."""
    return Verdict(None, f"there is no verdict: {failure}", True)

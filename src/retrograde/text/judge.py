"""A language model as the judge of answers: its critique is the feedback."""

import json

from ..errors import ParseError
from .basics import check_variables
from .chat import answered
from .data import as_text
from .evaluate import Evaluate, Evaluation, Verdict, samples
from .models.request import Request
from .parsing import loaded
from .wording import prompt

#: The form of a judge's reply, as a JSON schema.
VERDICT = {"type": "object", "properties": {"score": {"type": "number"}, "critique": {"type": "string"}},
           "required": ["score", "critique"]}


def judge(model, prediction, criteria, *, target=None, is_success=None, **options):
    """How good `model` finds each prediction by `criteria`, from 0 to 1, and its critique, as an Evaluation.

    target      the right answer, for comparison: one for all, or one for each sample
    is_success  whether a score needs no feedback; default: 1 or more
    options     of the calls, such as temperature=0 or json_schema=text.VERDICT where the model can keep to one

    Backward hands the critique of each sample to the prediction. A reply that is not in the form that was asked for scores
    0, and its words are the critique.

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
    answers, failures = answered(model, requests, f"judge of {prediction.role}")
    succeeds = is_success or (lambda score: score >= 1)
    verdicts = iter([_verdict(answer, failures.get(i), succeeds) for i, answer in enumerate(answers) if requests[i] is not None])
    return Evaluation(*Evaluate.apply(prediction, None, lambda p, t: next(verdicts), "judge"))


def _request(role, criteria, answer, target, options):
    context = prompt("judge_target", target=target) if target is not None else ""
    question = prompt("judge", role=role, criteria=criteria, context=context, answer=answer)
    return Request.of([("system", prompt("judge_system")), ("user", question)], **options)


def _verdict(answer, failure, succeeds):
    if answer is None:
        return Verdict(0.0, f"there is no verdict: {failure}", True)  # which says nothing about the prediction
    try:
        reply = loaded(answer)
        score, critique = min(max(float(reply["score"]), 0.0), 1.0), as_text(reply.get("critique"))
    except (ParseError, KeyError, TypeError, ValueError):
        return Verdict(0.0, answer.strip(), False)
    return Verdict(score, critique or json.dumps(reply), succeeds(score) or not critique)

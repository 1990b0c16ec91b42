"""Calls of a language model as an op: the answer forward, feedback to everything that the conversation was made of back."""

import weakref

from ..errors import AnswerError, BudgetError, InplaceError, ModelError, ReplayError
from .algebra import Feedback, Gathering, texts
from .conversation import Conversation, shortened, transcript
from .data import as_text, spread
from .models.batch import complete_all
from .models.request import Request
from .models.trace import calls_for
from .tags import escaped, nonce
from .wording import handed, prompt

#: How much of a part is shown to a feedback model, in characters, and how many cases at once.
SHOWN, CASES = 4000, 8


class Chat(Gathering):
    """The answers of a model to a conversation: see `chat`."""

    @staticmethod
    def forward(ctx, model, plan, feedback_model, options, role, *variables):
        ctx.feedback_model, ctx.role, ctx.used, ctx.demonstrations = feedback_model, role, used(variables), plan.demonstrations
        requests = plan.requests([variable.data for variable in variables], **options)
        answers, failures = answered(model, requests, role)
        failures |= {i: error for variable in variables for i, error in variable.failures.items() if requests[i] is None}
        ctx.requests, ctx.answers = requests, answers
        data = answers if plan.size is not None else answers[0]
        return texts.kind.remade(role, data, failures=failures)

    @staticmethod
    def backward(ctx, feedback):
        return (None,) * 5 + explained(ctx, feedback, ctx.needs_input_grad[5:])


def chat(model, messages, inputs=None, *, demonstrations=None, feedback_model=None, role="answer", **options):
    """What `model` answers to a conversation, as a variable: one answer, or one for each sample, made at the same time.

    messages        a text of the user, or a list of {"role", "content"} or (role, content); a content is a text, a variable,
                    or a list of them, with {places} for the inputs
    inputs          the text or variable for each place; batches make a batch of answers
    demonstrations  rows of one value for each input, and the answer: said before the last message in its form. A variable
                    can be learned.
    feedback_model  who is asked, backward, how each variable should change; without one the cases are handed back as they
                    are, which costs no call
    options         of the call: temperature, max_tokens, stop, labels, json_schema, ...

    A sample whose call fails is missing, and `.failures` says why; a sample that misses an input is missing too, for the same
    reason. If all calls fail, or a budget ends, the error is raised.

    >>> from retrograde.text.models import ScriptedLM
    >>> system = rg.text.Parameter("Answer in one word.", role="system prompt")
    >>> answer = rg.text.chat(ScriptedLM(["Blue."]), [("system", system), ("user", "Colour of {thing}?")], {"thing": "the sky"})
    >>> answer
    Variable('Blue.', role='answer', made_by=Chat)
    """
    plan = Conversation.of(messages, inputs, demonstrations)
    return Chat.apply(model, plan, feedback_model, options, role, *plan.variables)


def answered(model, requests, node, raises=True):
    """The text of the answers to `requests`, None where there is none, and the errors by place.

    Raises if a budget has ended, and, where `raises` holds, if there is no answer at all to go on with.
    """
    found, failures = _completed(model, requests, node, raises)
    return [None if completion is None else completion.text for completion in found], failures


def completions(model, requests, node) -> list:
    """The Completion for each of `requests`, None where its call failed; raises as `answered` does."""
    return _completed(model, requests, node, raises=True)[0]


def _completed(model, requests, node, raises) -> tuple[list, dict]:
    asked = [i for i, request in enumerate(requests) if request is not None]
    with calls_for(node):
        found = dict(zip(asked, complete_all(model, [requests[i] for i in asked]), strict=True))
    failures = {i: error for i, error in found.items() if isinstance(error, ModelError)}
    fatal = [error for error in failures.values() if isinstance(error, (BudgetError, ReplayError))]
    if fatal or (raises and failures and len(failures) == len(asked)):
        raise next(iter(fatal or failures.values()))
    return [None if i in failures else found.get(i) for i in range(len(requests))], failures


def used(variables):
    """What backward must know of the variables of a conversation: each, weakly, with version, role and data."""
    return [(weakref.ref(variable), variable.version, variable.role, variable.data) for variable in variables]


def explained(ctx, feedback, needs):
    """Feedback to each variable of the conversation in `ctx` that needs it, from feedback on the answers.

    `ctx` has the `requests` and `answers`, what they `used` and which of that are the `demonstrations`, the role of the answers
    and the feedback model. It holds no variable, which would keep the graph behind it alive.
    """
    for reference, version, role, _ in ctx.used:
        variable = reference()
        if variable is not None and variable.version != version:
            raise InplaceError(f"{role!r} was written to after it was used, so feedback would be about another text; call "
                               "backward before the optimizer's step, or compute the answer again")
    cases = _cases(ctx, feedback)
    return tuple([_feedback_to(ctx, i, feedback, cases) if needed and cases else None for i, needed in enumerate(needs)])


def _cases(ctx, feedback):
    """(number of the sample, the case in words) of each answer that something was said about."""
    said = [spread(as_text, f.data) for f in feedback]
    cases = []
    for k, (request, answer) in enumerate(zip(ctx.requests, ctx.answers, strict=True)):
        words = [_worded(text[k] if isinstance(text, list) else text) for text in said]
        words = list(dict.fromkeys(word for word in words if word))
        if words and request is not None and answer is not None:
            cases.append((k, prompt("case", conversation=transcript(request, SHOWN), answer=shortened(answer, SHOWN),
                                    feedback="\n".join(words))))
    return cases


def _worded(data):
    return data if isinstance(data, str) else " ".join(map(as_text, data))


def _feedback_to(ctx, i, feedback, cases):
    """Feedback to variable `i`: one for each sample if it is a batch, else one for each handful of cases."""
    _, _, role, data = ctx.used[i]
    if isinstance(data, list) and i != ctx.demonstrations:
        words, failures = _asked(ctx, role, [(data[k], case) for k, case in cases])
        found = [""] * len(data)
        for (k, _), word in zip(cases, words, strict=True):
            found[k] = word
        return Feedback((_labelled(feedback, found, role, ctx.role, {cases[j][0]: error for j, error in failures.items()}),))
    groups = [[case for _, case in cases[start : start + CASES]] for start in range(0, len(cases), CASES)]
    words, failures = _asked(ctx, role, [(data, "\n\n".join(group)) for group in groups])
    return Feedback(_labelled(feedback, word, role, ctx.role, {0: failures[j]} if j in failures else None)
                    for j, word in enumerate(words))


def _labelled(feedback, data, role, source, failures=None):
    found = handed(feedback[0], data, role, source)
    if failures:
        found.failures = failures
    return found


def _asked(ctx, role, pairs):
    """(for each (value, cases) what the feedback model says about the value, the errors where it says nothing, by place).

    Without a model the cases themselves are what is said.
    """
    if ctx.feedback_model is None:
        return [cases for _, cases in pairs], {}
    requests = [_question(role, shortened(_shown(value), SHOWN), cases) for value, cases in pairs]
    answers, failures = answered(ctx.feedback_model, requests, f"feedback to {role}", raises=False)
    words = [as_text(answer).strip() for answer in answers]
    silent = {i: AnswerError(f"the feedback model {ctx.feedback_model.name} answered without a word about the {role}")
              for i, word in enumerate(words) if not word}
    return words, {**silent, **failures}


def _question(role, value, cases):
    """What the feedback model is asked about a part."""
    shown = prompt("feedback", role=role, value=escaped(value), cases=escaped(cases), nonce=nonce(value, cases))
    return Request.of([("system", prompt("feedback_system")), ("user", shown)])


def _shown(value):
    """A value in words; demonstrations as one line each."""
    if not isinstance(value, list):
        return as_text(value)
    return "\n".join(" -> ".join(map(as_text, row)) if isinstance(row, list) else as_text(row) for row in value)

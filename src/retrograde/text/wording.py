"""The words of feedback: the prompts that are in force, and how a message is handed from a value to what it was made from."""

from contextlib import contextmanager
from contextvars import ContextVar

from ..errors import ArgumentError
from .algebra import texts
from .data import filled, is_number, mapped, places
from .prompts import PROMPTS

_PROMPTS: ContextVar[dict] = ContextVar("retrograde_prompts", default=PROMPTS)
_PLAIN = "{feedback}"
_STYLES = {"combined": PROMPTS["combined"], "plain": _PLAIN}


@contextmanager
def using_prompts(**prompts: str):
    """Within it, these prompts replace those of `text.PROMPTS` with the same names; restored on errors too.

    A place that the original has and the new one lacks is left out; one that the original lacks is an error.

    >>> with rg.text.using_prompts(momentum="So far: {history}"):
    ...     prompt("momentum", history="nothing")
    'So far: nothing'
    """
    for name, template in prompts.items():
        if name not in PROMPTS:
            raise ArgumentError(f"no prompt is named {name!r}; there are {', '.join(PROMPTS)}")
        unknown = set(places(template)) - set(places(PROMPTS[name]))
        if unknown:
            raise ArgumentError(f"the prompt {name!r} has no {', '.join(sorted(unknown))}; it has "
                                f"{', '.join(places(PROMPTS[name]))}")
    token = _PROMPTS.set({**_PROMPTS.get(), **prompts})
    try:
        yield
    finally:
        _PROMPTS.reset(token)


def feedback_style(style: str):
    """Within it, sums, splits and joins word the feedback they hand back in another way.

    "combined" (the default) introduces it by a sentence, at every op; "plain" hands the message on as it is, and the way
    it came stands in its `.path`. Any template with {role} and {feedback} will do.

    >>> x = rg.text.Variable("a", role="x", requires_grad=True)
    >>> y = rg.text.Variable("b", role="y")
    >>> with rg.text.feedback_style("plain"):
    ...     (x + y).backward("shorter")
    >>> x.grad[0].data, x.grad[0].path
    ('shorter', ('x and y',))
    """
    template = _STYLES.get(style, style)
    if "feedback" not in places(template):
        known = " or ".join(map(repr, _STYLES))
        raise ArgumentError(f"a feedback style is {known}, or a template with {{feedback}} in it, got {style!r}")
    return using_prompts(combined=template)


def prompt(name, **values):
    """The prompt of that name that is in force, with its places filled."""
    return filled(_PROMPTS.get()[name], values)


def combined(data, role):
    """The data of feedback in the words of the style; a number is a derivative and stays one.

    Of a sample of which nothing was said nothing is said.
    """
    template = _PROMPTS.get()["combined"]
    if template == _PLAIN:
        return data if data.__class__ is str else mapped(None, data)
    is_batch = isinstance(data, list)
    return mapped(lambda x: x if is_number(x) or (is_batch and not x) else filled(template, {"role": role, "feedback": x}), data)


def handed(feedback, data, role, source):
    """`data` as feedback to the variable of that `role`; it came like `feedback`, through the value called `source`."""
    return texts.kind.remade(f"feedback to {role}", data, path=(*feedback.path, source))

"""Evaluators with exact rules: equality, overlap of words, patterns, and the schema of JSON."""

import re
from collections import Counter

from ..errors import ParseError
from .data import as_text
from .evaluate import evaluate
from .parsing import loaded
from .schema import faults


def normalized(text):
    """`text` in lower case, without punctuation at its ends and with single spaces; what is all punctuation stays.

    >>> normalized(' The  Answer. ')
    'the answer'
    """
    words = " ".join(as_text(text).lower().split())
    return words.strip(" .,;:!?\"'`()[]*") or words


def exact_match(prediction, target, *, normalize=normalized):
    """1 where the prediction equals the target after `normalize` (None: as it is), else 0.

    >>> answer = rg.text.Variable(["Blue.", "red"], role="colour", requires_grad=True)
    >>> rg.text.exact_match(answer, ["blue", "green"]).scores
    [1.0, 0.0]
    """
    prepare = normalize or (lambda text: text)

    def check(p, t):
        is_equal = prepare(p) == prepare(t)
        return is_equal, f'"{p}" is right' if is_equal else f'it should be "{t}", not "{p}"'

    return evaluate(prediction, target, check, name="exact match")


def f1(prediction, target):
    """The harmonic mean of precision and recall of the target's words, after lower-casing and without punctuation.

    >>> answer = rg.text.Variable("the blue sky", role="answer")
    >>> rg.text.f1(answer, "a blue sky").score.data
    0.6666666666666666
    """
    return evaluate(prediction, target, _f1, name="F1")


def _f1(prediction, target):
    said, wanted = (Counter(re.findall(r"\w+", as_text(text).lower())) for text in (prediction, target))
    shared = (said & wanted).total()
    total = said.total() + wanted.total()
    missing, extra = wanted - said, said - wanted
    parts = [f"{word} {', '.join(found)}" for word, found in (("it lacks", missing), ("it should not say", extra)) if found]
    return 2 * shared / total if total else 1.0, f'"{prediction}" compared with "{target}": {"; ".join(parts) or "equal"}'


def matches(prediction, pattern, *, flags=0):
    """1 where the regular expression is found in the prediction, else 0.

    >>> rg.text.matches(rg.text.Variable("Order 66", role="reply"), r"\\d+").score.data
    1.0
    """
    compiled = re.compile(pattern, flags)

    def check(p, t):
        is_found = compiled.search(as_text(p)) is not None
        return is_found, f'"{p}" {"matches" if is_found else "should match"} the pattern {t}'

    return evaluate(prediction, pattern, check, name="pattern")


def fits_schema(prediction, schema):
    """1 where the prediction holds a JSON object that keeps to a JSON schema, else 0, with what is wrong and where.

    >>> reply = rg.text.Variable('{"age": "ten"}', role="reply", requires_grad=True)
    >>> found = rg.text.fits_schema(reply, {"properties": {"age": {"type": "integer"}}})
    >>> found.explanation.data
    'age must be of type integer, got "ten"'
    """
    def check(text, _):
        try:
            wrong = faults(loaded(as_text(text)), schema)
        except ParseError as error:
            wrong = [str(error)]
        return not wrong, "; ".join(wrong) or "it keeps to the schema"

    return evaluate(prediction, None, check, name="schema")

"""Instructions and layouts that are made from the data without a model: what the answers are like says how to ask for them."""

import json
import re
from statistics import quantiles

_NUMBER, _DATE = re.compile(r"[-+]?\d[\d,]*(\.\d+)?%?"), re.compile(r"\d{4}-\d\d-\d\d")


def layout_of(inputs, answer):
    """The plain layout of an item: each input after its name, and the name of the answer, which is to follow.

    >>> layout_of(("text",), "label")
    'Text: {text}\\nLabel:'
    """
    return "\n".join([*(f"{_titled(name)}: {{{name}}}" for name in inputs), f"{_titled(answer or 'answer')}:"])


def layouts_of(inputs, answer):
    """Other layouts."""
    if len(inputs) > 1:
        bare = "\n\n".join(f"{{{name}}}" for name in inputs)
        return [bare, f"{bare}\n{_titled(answer or 'answer')}:", "\n".join(f"<{name}>{{{name}}}</{name}>" for name in inputs)]
    (name,) = inputs
    if answer == "label":
        return [f"{{{name}}}\nLabel:", f"{_titled(name)}: {{{name}}}\nThis is", f"Input: {{{name}}}\nCategory:",
                f"{{{name}}}\nThe label is"]
    return [f"{{{name}}}", f"{{{name}}}\n{_titled(answer or 'answer')}:", f"Q: {{{name}}}\nA:"]


def instruction_of(labels):
    """The plain instruction that a search begins with where the user gives none."""
    return "Classify the text." if labels else "Answer."


def instructions_of(answers, labels=()):
    """Other instructions, from the labels, or from what all answers have in common.

    >>> instructions_of(["4", "17", "-3"])[0]
    'Answer with a number and nothing else.'
    """
    if labels:
        named = _listed(labels)
        return [f"Choose the label of each text: {named}.", f"Is the text {named}?",
                f"Each text is followed by its label: {named}."]
    found = [f"Answer with {form} and nothing else." for form, has_form in _FORMS.items() if all(map(has_form, answers))]
    different = sorted(set(answers))
    if 1 < len(different) <= min(8, len(answers) // 3):
        found.append(f"Answer with one of these and nothing else: {_listed(different)}.")
    counts = [len(answer.split()) for answer in answers]
    most = max(counts, default=0)
    if most > 1 and len(counts) > 1:
        found.append(f"Answer in at most {round(quantiles(counts, n=10)[-1]) or most} words.")
    return [*found, "Reply with the answer and nothing else.", "Follow the pattern of the examples exactly.",
            "Think about what is asked, then give the shortest complete answer."]


def _is_json(answer):
    try:
        return isinstance(json.loads(answer), (dict, list))
    except (ValueError, RecursionError):
        return False


#: What an answer may be, in words, and how one can tell.
_FORMS = {
    "a number": lambda answer: bool(_NUMBER.fullmatch(answer.strip())),
    "a date such as 2024-05-31": lambda answer: bool(_DATE.fullmatch(answer.strip())),
    "one JSON value": _is_json,
    "one word": lambda answer: answer.strip().isalpha(),
}


def _titled(name):
    return str(name).replace("_", " ").strip().capitalize()


def _listed(words):
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]

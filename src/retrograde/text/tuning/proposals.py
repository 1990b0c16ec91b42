"""Instructions that a model proposes from the data: from examples, a description of them, and a tip, without any feedback."""

import random
import re
from typing import NamedTuple

from ...errors import ArgumentError, BudgetError, ModelError, ParseError, ReplayError
from ..conversation import shortened
from ..data import places
from ..models.base import check_model
from ..models.batch import complete_all
from ..models.request import Request
from ..models.trace import calls_for
from ..tags import block, escaped, nonce, unescaped
from ..wording import prompt

#: How a proposal may differ from the next, after those of MIPROv2.
TIPS = (
    "Write it simply and clearly, in one sentence.",
    "Describe the form of the answer exactly.",
    "Name what is easily confused, and how to tell it apart.",
    "Say who the model is to be, as an expert on such inputs.",
    "Be creative: ask for the answer in an unusual way that still says all that matters.",
    "Say step by step what to look for.",
    "Say how much depends on a right answer.",
    "Write it in as few words as possible.",
)
#: Examples that are shown for a proposal, characters of one that are, and of a proposal that are taken.
_EXAMPLES, _SHOWN, _LONGEST = 6, 600, 1000
#: An input of at least so many characters that stands in a proposal was copied.
_COPIED = 20
_PLACE = re.compile(r"(?<!\{)\{([A-Za-z_]\w*)\}(?!\})")


class Proposals(NamedTuple):
    """Different instructions, and why replies could not be used, each reason once."""

    instructions: list
    faults: list


def propose_instructions(model, items, *, inputs=("input",), instruction="", labels=(), count=8, seed=0, **options):
    """Proposals of instructions that lead from the inputs of `items` to their answers, written by `model`.

    items        training items: tuples of a text for each of `inputs`, and the answer last
    instruction  the one that there is
    count        how many are asked for, each with other examples and another tip; a call more describes the data
    seed         of the draws
    options      of the calls, such as temperature

    This is the proposer of MIPROv2 (Opsahl-Ong et al. 2024, arXiv 2406.11695): no item is tried, and nobody says what was wrong.
    What a proposal is worth is for a search and its gate to find out. Replies that copy an input, or say nothing new, are left out.

    >>> writer = rg.text.ScriptedLM(lambda request: "<NEW>Name the capital.</NEW>")
    >>> propose_instructions(writer, [("France", "Paris"), ("Peru", "Lima")], count=2)
    Proposals(instructions=['Name the capital.'], faults=['it is not new'])
    """
    check_model(model)
    if count < 1 or not items:
        raise ArgumentError(f"proposals need at least one item, and a count of at least 1, got {len(items)} and {count}")
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    shown = [_examples(draw.sample(items, min(_EXAMPLES, len(items))), inputs) for _ in range(count + 1)]
    found, faults = [], []
    with calls_for("proposer"):
        about = _answers(model, [_description(shown[0], labels)], options, faults)[0] or "not described"
        talks = [_question(shown[i + 1], about, instruction, labels, TIPS[i % len(TIPS)]) for i in range(count)]
        replies = _answers(model, [talk for _, talk in talks], options, faults)
    for (code, _), reply in zip(talks, replies, strict=True):
        try:
            if reply is not None:
                found.append(_read(reply, code, [instruction, *found], items))
        except ParseError as error:
            faults.append(str(error))
    return Proposals(found, list(dict.fromkeys(faults)))


def _answers(model, talks, options, faults):
    """The text of each answer, None where there is none; `faults` takes up why."""
    answers = complete_all(model, [Request.of(talk, **options) for talk in talks])
    fatal = [answer for answer in answers if isinstance(answer, (BudgetError, ReplayError))]
    if fatal:
        raise fatal[0]
    faults += [str(answer) for answer in answers if isinstance(answer, ModelError)]
    return [None if isinstance(answer, ModelError) else answer.text for answer in answers]


def _description(examples, labels):
    asked = prompt("describe", examples=examples, labels=_named(labels), nonce=nonce(examples))
    return [("system", prompt("propose_system")), ("user", asked)]


def _question(examples, about, instruction, labels, tip):
    """(the code of the tags, the messages) that ask for one proposal."""
    code = nonce(examples, about, instruction, tip)
    asked = prompt("propose", examples=examples, about=escaped(shortened(about, _LONGEST)), instruction=escaped(instruction),
                   labels=_named(labels), tip=tip, nonce=code)
    return code, [("system", prompt("propose_system")), ("user", asked)]


def _named(labels):
    return f"The answer is one of: {escaped(', '.join(labels))}\n\n" if labels else ""


def _examples(items, inputs):
    line = lambda name, text: f"{name}: {escaped(shortened(text, _SHOWN))}"
    return "\n\n".join("\n".join(map(line, (*inputs, "answer"), item)) for item in items)


def _read(reply, code, known, items):
    """The instruction in a reply; a ParseError if it cannot be used."""
    new = plain(unescaped(block(reply, "NEW", code)).strip())
    if not new or len(new) > _LONGEST:
        raise ParseError(f"it must have 1 to {_LONGEST} characters, and has {len(new)}")
    if new in known:
        raise ParseError("it is not new")
    copied = [text for *texts, _ in items for text in texts if len(text) >= _COPIED and text in new]
    if copied:
        raise ParseError(f"it copies an input: {copied[0][:60]!r}")
    return new


def plain(text):
    """`text` with words in single braces put in double ones: they are no places, since nothing would fill them.

    >>> plain("Answer as {label}: ...")
    'Answer as {{label}}: ...'
    """
    return _PLACE.sub(r"{{\1}}", text) if places(text) else text

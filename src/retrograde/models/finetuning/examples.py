"""Examples to learn from: lines of JSON as tokens, and which of these are to be learned."""

import json
from typing import NamedTuple

from ...data.sources.lines import Lines
from ...errors import ArgumentError, DataError
from ..templates import laid_out

_FORMS = '{"text": ...}, {"prompt": ..., "completion": ...} or {"messages": [...]}'


class Example(NamedTuple):
    """The `tokens` of a text, and for each whether it is to be foreseen: `is_learned`."""

    tokens: list
    is_learned: list


class Examples(NamedTuple):
    """What is in a file: `examples`, and how many of its lines were `cut` since they are longer than a row."""

    examples: list
    cut: int


def read_examples(path, model, length):
    """`Examples` of a file of JSON lines, of at most `length` tokens each.

    A line is {"text": ...}, of which all is learned; {"prompt": ..., "completion": ...}, of which the completion is; or
    {"messages": [...]}, laid out by the model's chat template, of which what the assistant says is. A text that is longer goes on
    in another example, others end there. Empty lines are passed over.

    Raises a DataError with the file and the line that is none of these, or has nothing to learn.
    """
    lines, found, cut = Lines(path), [], 0
    for i in range(len(lines)):
        line = lines.row(i)
        if not line.strip():
            continue
        try:
            example, is_text = _example(_parsed(line), model)
            pieces = _pieces(example, length) if is_text else [Example(*[part[:length] for part in example])]
            _check_learned(pieces[0], example, length)
        except ArgumentError as error:
            raise DataError(f"{lines.where(i)}: {error}") from None
        found += pieces
        cut += len(example.tokens) > length
    if not found:
        raise DataError(f"{path} has no line to learn from; a line is {_FORMS}")
    return Examples(found, cut)


def _check_learned(piece, example, length):
    """Raise an ArgumentError if no token is to be foreseen after the first one."""
    if not any(piece.is_learned[1:]):
        raise ArgumentError(f"nothing is left to learn in the first {length} tokens" if len(example.tokens) > length else
                            "there is nothing to learn: a text needs two tokens, and a completion one")


def _parsed(line):
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"no JSON: {error}") from None
    if not isinstance(found, dict):
        raise ArgumentError(f"a line is {_FORMS}, got {line:.80}")
    return found


def _example(record, model):
    """(the example of a line, whether it is a text)."""
    keys = {"text", "prompt", "completion", "messages"} & record.keys()
    if keys == {"text"}:
        tokens = _ended(model, model.tokenizer.encode(_text(record, "text")))
        return Example(tokens, [True] * len(tokens)), True
    if keys == {"prompt", "completion"}:
        prompt, completion = _text(record, "prompt"), _text(record, "completion")
        whole = _ended(model, model.tokenizer.encode(prompt + completion))
        return _marked(whole, [(model.tokenizer.encode(prompt), whole)]), False
    if keys == {"messages"}:
        return _conversation(record["messages"], model), False
    raise ArgumentError(f"a line is {_FORMS}, and this one has {', '.join(sorted(record)) or 'nothing'}")


def _text(record, key):
    if not isinstance(record[key], str) or not record[key] and key != "prompt":
        raise ArgumentError(f"{key} must be a text that is not empty, got {record[key]!r:.80}")
    return record[key]


def _ended(model, tokens):
    """Tokens with the one that ends a text, where the model has such."""
    ends = model.tokenizer.ends
    return tokens if not ends or tokens and tokens[-1] in ends else [*tokens, ends[0]]


def _conversation(messages, model):
    """The example of messages: what a template puts between the question and the end of an answer is learned."""
    if model.template is None:
        raise ArgumentError("this model has no chat template; give prompts and completions")
    if not isinstance(messages, list) or not messages:
        raise ArgumentError(f"messages must be a list of at least one, got {messages!r:.80}")

    def shown(count, is_asked):
        return laid_out(model.template, messages[:count], model.tokenizer.names, is_asked=is_asked)

    whole, parts = shown(len(messages), False), []
    for i, message in enumerate(messages):
        if isinstance(message, dict) and message.get("role") == "assistant":
            before, after = shown(i, True), shown(i + 1, False)
            if not after.startswith(before) or not whole.startswith(after):
                raise ArgumentError("the chat template changes what came before an answer, so that it cannot be told apart; give "
                                    "each answer a line of its own, or prompts and completions")
            parts.append([model.tokenizer.encode(text, is_start=False) for text in (before, after)])
    if not parts:
        raise ArgumentError("no message is of the assistant, whose messages are learned")
    return _marked(model.tokenizer.encode(whole, is_start=False), parts)


def _marked(whole, parts):
    """The example of tokens of which those after the first and in the second of each pair of beginnings are learned.

    A token that begins before a boundary and ends behind it is in no beginning, and is learned.
    """
    is_learned = [False] * len(whole)
    for before, after in parts:
        for place in range(_same(before, whole), _same(after, whole)):
            is_learned[place] = True
    return Example(whole, is_learned)


def _same(tokens, whole):
    """How many tokens two texts begin with alike."""
    return next((i for i, pair in enumerate(zip(tokens, whole, strict=False)) if pair[0] != pair[1]), min(len(tokens), len(whole)))


def _pieces(example, length):
    """A text in examples of so many tokens, each of which begins with the last token of the one before: so all are learned."""
    starts = range(0, max(len(example.tokens) - 1, 1), length - 1)
    return [Example(*[part[start : start + length] for part in example]) for start in starts]

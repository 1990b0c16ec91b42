"""The probability of each of several labels after a prompt."""

#: What is wrong with a label that changes the tokens of the prompt before it.
SHARED = ("shares a token with the end of the prompt; put the space between them before the label, not after the prompt")


def score(prompt, wholes, next_logprobs):
    """The log-probability of each label: the sum over its tokens, each given the prompt and the tokens before it.

    `prompt` are the tokens of the prompt, `wholes` those of the prompt with each label, tokenised together. Where a label
    changes the last tokens of the prompt (a space that becomes part of a word), all labels are scored from the last token
    that none of them changes. The model is asked once for each different beginning of a label.
    """
    shared = beginning([tuple(prompt), *map(tuple, wholes)])
    endings = [tuple(whole[len(shared):]) for whole in wholes]
    following = {}
    for ending in endings:
        for i, token in enumerate(ending):
            following.setdefault(ending[:i], set()).add(token)
    # Shortest first: each beginning goes on from one that the model has just read.
    known = {start: next_logprobs(shared + start, sorted(tokens)) for start, tokens in sorted(following.items())}
    return [sum(known[ending[:i]][token] for i, token in enumerate(ending)) for ending in endings]


def beginning(sequences):
    """What all the sequences begin with."""
    first, last = min(sequences), max(sequences)
    length = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return first[:length]

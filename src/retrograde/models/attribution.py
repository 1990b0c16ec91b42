"""Attribution: which tokens of a prompt make an answer likely, by the gradient of its log-probability in their vectors."""

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from ..core.mode import enable_grad
from ..errors import ArgumentError
from ..ops.axes import reductions
from ..ops.manipulation.joins import concatenate, stack
from ..ops.networks.activation import log_softmax
from ..tensor.tensor import Tensor
from ..text.models.base import LanguageModel
from ..text.models.labels import SHARED
from ..text.models.rendering import parts_of
from ..text.models.request import Request
from .checks import check_model
from .reading import EMPTY_PROMPT


class Attribution(NamedTuple):
    """What each token of a prompt does for an answer; printed, it is a small table.

    tokens   the texts of the tokens; of special ones, which have none, their names
    effects  of each the gradient times its vector: to the first order the log-probability falls by so much without it
    norms    the length of the gradient in the vector of each: how much any change of it may do
    logprob  the log-probability of the answer, less that of the other one if there is one
    is_word  of each token whether it is part of what was asked: not special, and not of the template that lays messages out
    """

    tokens: tuple
    effects: tuple
    norms: tuple
    logprob: float
    is_word: tuple

    @property
    def words(self):
        """(word, effect) of the words of the prompt: the effects of tokens that no space parts, added up.

        Of messages these are the words that they contain: those of the template are not for who writes prompts to choose.
        """
        found = []
        for token, effect, is_word in zip(self.tokens, self.effects, self.is_word, strict=True):
            before = found[-1][0] if found else ""
            if not is_word:
                found.append(("", effect))
            # A space belongs to the word after it.
            elif before and token and not token[0].isspace() and (before.isspace() or not before[-1].isspace()):
                found[-1] = before + token, found[-1][1] + effect
            else:
                found.append((token, effect))
        return tuple([(word.strip(), effect) for word, effect in found if word.strip()])

    def __str__(self):
        width = max([len(repr(token)) for token in self.tokens], default=5)
        rows = zip(self.tokens, self.effects, self.norms, strict=True)
        lines = [f"{token!r:<{width}}  {effect:+.3f}  {norm:6.3f}" for token, effect, norm in rows]
        return "\n".join([f"{'token':<{width}}  effect    norm", *lines, f"log-probability {self.logprob:.3f}"])


def attribution(model, prompt, label, instead=None):
    """Which tokens of `prompt`, a text or messages, make `label` likely as what follows; see `Attribution`.

    `model` is a `Model`, or a language model of `retrograde.text` that runs one, such as a `LocalModel` of the engine retrograde:
    then what is asked is as `text.logprobs` asks it. With `instead`, another label, it is the difference of their
    log-probabilities that is looked at: why this one and not that. The network stays as it is, and so do gradients of its
    parameters.
    """
    if isinstance(model, LanguageModel):
        request = Request.of(prompt, labels=[label] if instead is None else [label, instead])
        return model.attribution(request, np.array([1.0, -1.0])[: len(request.labels)])
    check_model(model, "attribution", "a Model or a language model of retrograde.text")
    tokens = model.tokenizer.encode(prompt) if isinstance(prompt, str) else model.chat_tokens(prompt)
    labels = [label] if instead is None else [label, instead]
    parts = ("", prompt, "") if isinstance(prompt, str) else parts_of(
        lambda contents: model.chat_text([{**m, "content": content} for m, content in zip(prompt, contents, strict=True)]),
        [message["content"] for message in prompt])
    return effects(model, tokens, endings(model, prompt, tokens, labels), np.array([1.0, -1.0])[: len(labels)], parts)


def effects(model, tokens, following, gradient, parts, soft_prompt=None):
    """What the `tokens` of a prompt do for a sum of log-probabilities, each times its number in `gradient`: an `Attribution`.

    following    of each log-probability the tokens that follow the prompt
    parts        the text of the prompt, of which every second part is the content of a message: see `parts_of`
    soft_prompt  what stands before the tokens; it has no gradient here
    """
    network = model.network
    vectors = Tensor(np.array(vectors_of(network, tokens))).requires_grad_(True)
    before = vectors if soft_prompt is None else concatenate([Tensor(np.array(soft_prompt.vectors.detach())), vectors], 0)
    with frozen(network), enable_grad():
        found = (label_logprobs(network, [(before, ending) for ending in following]) * gradient.astype(np.float32)).sum()
        found.backward()
    slopes = vectors.grad.numpy().astype(np.float64)
    told = [model.tokenizer.text_of(token) for token in tokens]
    is_content = _is_content(model.tokenizer, tokens, parts)
    return Attribution(tuple([text or model.tokenizer.name_of(token) for text, token in zip(told, tokens, strict=True)]),
                       tuple((slopes * vectors.detach().numpy()).sum(-1).tolist()),
                       tuple(np.sqrt((slopes * slopes).sum(-1)).tolist()), float(found),
                       tuple([bool(text) and is_part for text, is_part in zip(told, is_content, strict=True)]))


def _is_content(tokenizer, tokens, parts):
    """Of each token of a text in `parts` whether it stands, all of it or some of it, in one of the contents among them.

    All do where tokens are not those of the text, so that their places in it are not known.
    """
    bounds = [len(tokenizer.decode(tokenizer.encode("".join(parts[:i]), is_start=False))) for i in range(len(parts))]
    spans = [*zip(bounds[1::2], bounds[2::2], strict=True)]
    lengths = [_added(tokenizer, tokens, i) for i in range(len(tokens))]
    ends = np.cumsum(lengths).tolist()
    if not tokenizer.decode(tokenizer.encode("".join(parts), is_start=False)).startswith(tokenizer.decode(tokens)):
        return [True] * len(tokens)
    found = [any([start < end and end - length < last for start, last in spans if start < last])
             for end, length in zip(ends, lengths, strict=True)]
    for i in range(len(tokens) - 2, -1, -1):
        if not lengths[i]:  # it begins a letter, which another token ends
            found[i] = found[i + 1]
    return found


def _added(tokenizer, tokens, place):
    """How many letters a token adds to the text before it: a letter of several tokens is that of the last of them."""
    first = max(0, place - 8)  # more tokens than a letter has
    before, after = [len(tokenizer.decode(tokens[first:end]).rstrip("\ufffd")) for end in (place, place + 1)]
    return after - before


def endings(model, prompt, tokens, labels):
    """The tokens of each label after those of a prompt. An ArgumentError if a label changes the prompt's own last tokens."""
    found = []
    for label in labels:
        if not isinstance(label, str) or not label:
            raise ArgumentError(f"a label is a text that is not empty, got {label!r:.80}")
        if not isinstance(prompt, str):
            found.append(model.tokenizer.encode(label, is_start=False))
            continue
        whole = model.tokenizer.encode(prompt + label)
        if whole[: len(tokens)] != tokens or len(whole) == len(tokens):
            raise ArgumentError(f"the label {label!r:.80} {SHARED}")
        found.append(whole[len(tokens) :])
    return found


def vectors_of(network, tokens):
    """The vectors of tokens, (tokens, width), without a history."""
    return network.embedded(Tensor(np.array([tokens], np.int64))).detach()[0]


def label_logprobs(network, rows):
    """The log-probability of what follows in each of `rows`, (vectors (n, width), tokens that follow): shape (rows,).

    They are read as one batch.
    """
    if not all([len(vectors) for vectors, _ in rows]):
        raise ArgumentError(EMPTY_PROMPT)
    longest = max([len(vectors) + len(ending) for vectors, ending in rows])
    filled = [_filled(network, vectors, ending, longest) for vectors, ending in rows]
    logprobs = log_softmax(network.logits(stack(filled, 0)), -1)
    # The logits at a place are those of the token after it.
    return stack([reductions.sum(logprobs[i, np.arange(len(ending)) + len(vectors) - 1, np.array(ending, np.int64)])
                  for i, (vectors, ending) in enumerate(rows)], 0)


def _filled(network, vectors, ending, longest):
    """Vectors, those of what follows, and zeros up to `longest`: nothing before them sees these."""
    parts = [vectors, vectors_of(network, ending)]
    if missing := longest - len(vectors) - len(ending):
        parts.append(Tensor(np.zeros((missing, vectors.shape[1]), parts[1].dtype)))
    return concatenate(parts, 0)


@contextmanager
def frozen(network):
    """Within the block no parameter of a network needs a gradient, so that none is computed."""
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    try:
        for parameter in learned:
            parameter.requires_grad_(False)
        yield
    finally:
        for parameter in learned:
            parameter.requires_grad_(True)

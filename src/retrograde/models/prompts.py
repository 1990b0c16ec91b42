"""Prompts: what a model is given to go on from, a text or a list of tokens."""

from numbers import Integral

import numpy as np

from ..errors import ArgumentError
from ..tensor.tensor import Tensor


def listed(prompts):
    """(whether this is a single prompt, a list of prompts), each of which is a text or a list of integers.

    Lists of tokens may be arrays or tensors of one axis. One of two axes is no list of prompts: what fills up its shorter rows
    would be read as tokens.
    """
    prompts = _plain(prompts)
    if isinstance(prompts, str):
        return True, [prompts]
    if not isinstance(prompts, (list, tuple)):
        raise ArgumentError(f"a prompt is a text or a list of tokens, and several are a list of these, got {prompts!r:.80}")
    if prompts and all([isinstance(part, Integral) for part in prompts]):
        return True, [_tokens(prompts)]
    return False, [_one(_plain(prompt)) for prompt in prompts]


def _one(prompt):
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, dict):
        raise ArgumentError(f"a prompt is a text or a list of tokens, got {prompt!r:.80}; chat takes messages")
    if not isinstance(prompt, (list, tuple)):
        raise ArgumentError(f"a prompt is a text or a list of tokens, got {prompt!r:.80}")
    return _tokens(prompt)


def _tokens(numbers):
    if not all([isinstance(number, Integral) and not isinstance(number, bool) for number in numbers]):
        raise ArgumentError(f"tokens of a prompt are integers, got {numbers!r:.80}")
    return [int(number) for number in numbers]


def _plain(x):
    """An array or a tensor of one axis as a list; all else as it is."""
    if not isinstance(x, (np.ndarray, Tensor)):
        return x
    if x.ndim != 1:
        raise ArgumentError(f"tokens of a prompt have one axis, got shape {tuple(x.shape)}; give several prompts as a list, each "
                            "with its own tokens and nothing that fills it up")
    return np.asarray(x).tolist()

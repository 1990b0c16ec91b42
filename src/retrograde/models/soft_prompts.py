"""Soft prompts: vectors before a prompt, which no words have, learned by `backward()` while the network stays as it is.

Lester et al., "The power of scale for parameter-efficient prompt tuning" (2021).
"""

import numpy as np

from ..errors import ArgumentError, CheckpointError
from ..io.weights import load, save
from ..nn.module import Module
from ..nn.parameter import Parameter
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import reshape
from ..text.models.request import in_order
from .attribution import endings, frozen, label_logprobs, vectors_of
from .checks import check_model, check_seed


class SoftPrompt(Module):
    """`vectors`, (count, width), that stand before the prompts of a `Model`; they are the only parameter.

    text    they begin as the vectors of this text's tokens, again and again; without one as those of tokens that `seed` draws

    `model.generate(prompt, soft_prompt=soft)` writes after them, and so do `complete`, `chat`, `logprobs` and a `TextModel`.
    """

    def __init__(self, model, count=8, *, text=None, seed=0):
        super().__init__()
        check_model(model, "a SoftPrompt")
        check_seed(seed)
        if type(count) is not int or not 1 <= count < model.context:
            raise ArgumentError(f"count must be an integer from 1 to {model.context - 1}, the room of the model, got {count!r}")
        self._model = (model,)  # not one of its modules
        if text is None:
            tokens = np.random.default_rng(seed).integers(0, model.network.config.vocab_size, count).tolist()
        else:
            found = model.tokenizer.encode(text, is_start=False)
            if not found:
                raise ArgumentError("the text of a soft prompt has one token at least")
            tokens = [found[i % len(found)] for i in range(count)]
        self.vectors = Parameter(np.asarray(vectors_of(model.network, tokens), np.float32))

    @property
    def model(self):
        """The model that the vectors are for."""
        return self._model[0]

    def forward(self, prompts, labels):
        """The log-probability of each of `labels` after each of `prompts`, texts or lists of messages: (prompts, labels).

        Gradients go to `vectors`, not to the network. All are read as one batch.
        """
        model, rows, labels = self.model, [], in_order("labels", labels)
        if not labels:
            raise ArgumentError("a soft prompt is asked for one label at least")
        if isinstance(prompts, str) or not len(prompts):
            raise ArgumentError(f"a soft prompt is asked with a list of prompts, got {prompts!r:.80}")
        for prompt in prompts:
            tokens = model.tokenizer.encode(prompt) if isinstance(prompt, str) else model.chat_tokens(prompt)
            whole = concatenate([self.vectors, vectors_of(model.network, tokens)], 0) if tokens else self.vectors
            rows += [(whole, ending) for ending in endings(model, prompt, tokens, labels)]
        longest = max([len(whole) + len(ending) for whole, ending in rows])
        if longest > model.context:
            raise ArgumentError(f"a soft prompt, a prompt and a label have {longest} tokens, and the model was loaded for "
                                f"{model.context}; see `context` of load")
        with frozen(model.network):
            return reshape(label_logprobs(model.network, rows), (len(prompts), len(labels)))

    def save(self, path):
        """Write the vectors to a file of safetensors, beside the text of a prompt."""
        save({"vectors": self.vectors}, path)

    @classmethod
    def load(cls, model, path):
        """The soft prompt of a file for a model; a CheckpointError if its vectors are not those of such a model."""
        check_model(model, "a SoftPrompt")
        found, width = load(path), model.network.config.hidden_size
        vectors = found.get("vectors")
        if vectors is None or vectors.ndim != 2 or vectors.shape[1] != width or not 1 <= len(vectors) < model.context:
            shape = None if vectors is None else tuple(vectors.shape)
            raise CheckpointError(f"{path} must hold vectors (count, {width}) of a soft prompt, got {shape}")
        soft = cls(model, len(vectors))
        soft.load_state_dict({"vectors": vectors})
        return soft

    def extra_repr(self):
        return f"count={len(self.vectors)}, width={self.vectors.shape[1]}"

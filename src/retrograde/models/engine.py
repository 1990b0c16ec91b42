"""The engine of text variables that runs a `Model`: the weights are part of the graph."""

import numpy as np

from ..core.mode import enable_grad
from ..errors import CheckpointError, ModelError
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import reshape
from ..ops.networks.quantized import FEW_ROWS
from ..tensor.tensor import Tensor
from ..text.models.labels import beginning
from .attribution import effects, frozen, label_logprobs, vectors_of
from .cache import Prompts
from .files import template_of
from .model import Model, load
from .together import Together

#: What stands for a `top_p` of 0.
_LEAST_SHARE = 1e-9


class NetworkEngine:
    """A `Model`, behind a `soft_prompt` if there is one, as an engine (see `retrograde.text.models.engine`)."""

    max_concurrency, has_gradients = FEW_ROWS, True

    def __init__(self, model, soft_prompt=None):
        self._model, self.soft_prompt = model, soft_prompt
        self._together = Together(model)

    @classmethod
    def opened(cls, path, context, threads, activations):  # noqa: ARG003 - threads are those of the compiler
        """The engine with the weights at `path`."""
        model = load(path, context=context, activations=activations)
        if not isinstance(model, Model):
            raise CheckpointError("it is an encoder, which makes vectors of texts and writes none; rg.models.load gives it")
        model.reader.prompts = Prompts()
        return cls(model)

    @classmethod
    def has_template(cls, path):
        """Whether the weights at `path` come with a template for messages."""
        return template_of(path) is not None

    @property
    def model(self):
        """The model. Who has it may change its weights, so that prompts are read anew from then on."""
        self._model.reader.prompts = None
        return self._model

    def chat_prompt(self, messages):
        """The messages as the text that the model was tuned to; an answer at their end is gone on with."""
        *before, last = messages
        begun = last.content if before and last.role == "assistant" else ""
        asked = before if begun else messages
        return self._model.chat_text([{"role": message.role, "content": message.content} for message in asked]) + begun

    def tokens(self, text, is_chat):
        """The tokens of a prompt; a template writes the names of special tokens, and all that there are."""
        return self._model.tokenizer.encode(text, is_start=not is_chat, has_names=is_chat)

    def count_tokens(self, text):
        """How many tokens a text has that is no prompt."""
        return len(self._model.tokenizer.encode(text, is_start=False, has_names=False))

    def complete(self, tokens, **options):
        """(text, finish reason, number of tokens) of what follows `tokens`."""
        written = self._together.write(self._wish(tokens, **options))
        return written.text, written.finish_reason, len(written.tokens)

    def stream(self, tokens, **options):
        """The text of what follows, piece by piece."""
        return self._together.stream(self._wish(tokens, **options))

    def scores(self, prompt, wholes):
        """The log-probability of each label, by the tokens of a prompt and those of the prompt with each label."""
        self._check_room(max(wholes, key=len))
        return self._together.alone(self._model.scores, prompt, wholes, self.soft_prompt)

    def label_gradient(self, scored, gradient, learned):
        """The gradient in the vectors of the soft prompt, through the network, which is read anew, as one batch."""
        return self._together.alone(_soft_gradient, self._model.network, scored, gradient, learned)

    def attribution(self, prompt, wholes, gradient, parts):
        """What the tokens of a prompt in `parts` do for a loss; `gradient` is that in the scores of labels. See `Attribution`."""
        self._check_room(max(wholes, key=len))
        shared = beginning([prompt, *wholes])
        endings = [whole[len(shared) :] for whole in wholes]
        return self._together.alone(effects, self._model, shared, endings, gradient, parts, self.soft_prompt)

    def _wish(self, tokens, json_schema, **options):
        """What is to be written, as a `Wish`; nothing but the options decides how tokens are drawn."""
        self._check_room(tokens)
        seed = options.pop("seed") % 2**64
        # The likeliest token is left in any case.
        options["top_p"] = max(options["top_p"], _LEAST_SHARE)
        (wish,) = self._model.wishes([tokens], has_logprobs=False, schema=json_schema, soft_prompt=self.soft_prompt, top_k=0,
                                     min_p=0.0, repetition_penalty=1.0, seed=seed, **options)
        return wish

    def _check_room(self, tokens):
        before = 0 if self.soft_prompt is None else len(self.soft_prompt.vectors)
        if not tokens and not before:
            raise ModelError("the prompt is empty, and the model puts no token before a text")
        if before + len(tokens) > self._model.context:
            raise ModelError(f"the prompt ({before + len(tokens)} tokens) exceeds the context of the model, {self._model.context}; "
                             "see `context`")


def _soft_gradient(network, scored, gradient, learned):
    vectors, rows = Tensor(np.array(learned.detach())).requires_grad_(True), []
    with frozen(network), enable_grad():
        for prompt, wholes in scored:
            # As `score` does: from the first token on that a label changes.
            shared = beginning([prompt, *wholes])
            before = concatenate([vectors, vectors_of(network, shared)], 0) if shared else vectors
            rows += [(before, whole[len(shared) :]) for whole in wholes]
        logprobs = reshape(label_logprobs(network, rows), gradient.shape)
        (logprobs * gradient.astype(np.float32)).sum().backward()
    return vectors.grad

"""Model: a network with its tokenizer, from a folder or a file, that writes texts."""

from functools import cached_property
from typing import Any

import numpy as np

from ..errors import AnswerError, ArgumentError, StorageError
from ..io import gguf
from ..nn.module import Module
from ..nn.quantized import set_activations
from ..text.models.labels import SHARED, score
from ..text.models.request import in_order
from .checks import check_options, check_writes, path_of
from .constrained import Grammars
from .encoder import Encoder
from .facts import Facts
from .files import json_if_there, network_of_folder, network_of_gguf, template_of, template_of_gguf
from .folder_tokens import tokenizer_of_folder
from .generation_settings import SETTINGS, check_settings, settings_of
from .gguf_tokens import tokenizer_of_gguf
from .prompts import listed
from .reading import Reader
from .sampling import Sampling, log_softmax
from .templates import laid_out
from .weights import weights_dtype
from .writing import Wish, write

#: The longest texts that a model is loaded for unless `context` says otherwise.
_USUAL_CONTEXT = 4096


class Model:
    """A language model: `network` is a Module from tokens to logits, `tokenizer` makes tokens of texts.

    settings   how tokens are drawn unless a call says otherwise, from `generation_config.json`; to write by one that is not here is
               an error
    template   how messages are laid out, in Jinja; None where the model has no template
    context    how many tokens are read at most, of a prompt and of what is written after it; one more may be written, which nobody
               reads
    """

    def __init__(self, network, tokenizer, *, settings=None, template=None, context=None):
        self.network, self.tokenizer, self.template = network, tokenizer, template
        check_writes(network, "a Model")
        self.settings = dict(settings or {})
        longest = network.config.max_position_embeddings
        self.context = min(longest, _USUAL_CONTEXT) if context is None else context
        if not isinstance(self.context, int) or not 2 <= self.context <= longest:
            raise ArgumentError(f"context must be from 2 to {longest}, which the model was made for, got {context}")
        self.reader = Reader(network, self.context)

    def generate(self, prompt, *, stream=False, **options):
        """The text that follows `prompt`, or a list of texts for a list of prompts, which are written together.

        max_tokens          at most so many tokens are written, 128 unless said otherwise
        temperature, top_k, top_p, min_p, repetition_penalty   how tokens are drawn, see `Sampling`; the likeliest one unless the
                            model's own settings say otherwise
        stop                texts before which writing ends
        seed                a text is the same for the same seed; a list has one for each prompt
        ignore_end          write on after the token that ends a text
        schema              the text is JSON that fits this schema of JSON, a dictionary; an AnswerError if `max_tokens` or the
                            context cuts it off. Needs llguidance, of the extra `models`
        grammar             the text is one of this grammar, in GBNF as llama.cpp has it, or in llguidance's Lark; as `schema`
        soft_prompt         a `SoftPrompt` that stands before each prompt
        stream              give an iterator over the text of one prompt, piece by piece

        A text depends on its own prompt, options and seed alone, not on other prompts nor on the number of threads. A prompt may
        also be a list of tokens.
        """
        if stream:
            is_one, prompts = listed(prompt)
            if not is_one:
                raise ArgumentError(f"a stream is of one prompt, a text or a list of tokens, got {prompt!r:.80}")
            return self._stream(self._wishes(prompts, options))
        is_one, prompts = listed(prompt)
        wishes = self._wishes(prompts, options)
        found = [self._whole(wish, written).text for wish, written in zip(wishes, self._written(wishes), strict=True)]
        return found[0] if is_one else found

    def complete(self, prompts, **options):
        """As `generate`, for a list of prompts: a list of `Written`, with tokens, log-probabilities and why each ended.

        With a `schema` a text that ended for its length may be no JSON. `alternatives` is how many of the likeliest tokens at each
        place are told with their log-probabilities, which are those of the model before a temperature, or a schema, changes them.
        """
        is_one, prompts = listed(prompts)
        if is_one:
            raise ArgumentError("complete takes a list of prompts; generate takes one")
        return self._written(self.wishes(prompts, **options))

    def wishes(self, prompts, *, alternatives=0, has_logprobs=True, **options):
        """What `complete` is to write, checked: a list of `Wish`, which a `Batch` takes one by one."""
        size = self.network.config.vocab_size
        if type(alternatives) is not int or not 0 <= alternatives <= size:
            raise ArgumentError(f"alternatives must be an integer from 0 to {size}, got {alternatives!r}")
        return [wish._replace(has_logprobs=has_logprobs, alternatives=alternatives) for wish in self._wishes(prompts, options)]

    def chat(self, messages, *, stream=False, **options):
        """The answer to `messages`, dictionaries with `role` and `content`; options are those of `generate`."""
        return self.generate(self.chat_tokens(messages), stream=stream, **options)

    def chat_tokens(self, messages):
        """The tokens of messages, laid out by the template of the model, up to where its answer begins."""
        return self.tokenizer.encode(self.chat_text(messages), is_start=False)

    def chat_text(self, messages):
        """Messages as a text, laid out by the template of the model, up to where its answer begins."""
        if self.template is None:
            raise ArgumentError("this model has no chat template: it continues texts; use generate")
        return laid_out(self.template, messages, self.tokenizer.names)

    def logprobs(self, prompt, labels, soft_prompt=None):
        """The log-probability of each of `labels` as what follows `prompt`: that of all its tokens together.

        A `soft_prompt` stands before the prompt.
        """
        labels = in_order("labels", labels)
        if not labels or not all(labels):
            raise ArgumentError(f"labels are texts that are not empty, got {labels!r:.80}")
        if not isinstance(prompt, str):
            raise ArgumentError("logprobs needs a prompt that is a text: a label may share a token with its end")
        wholes = [self.tokenizer.encode(prompt + label) for label in labels]
        return self.scores(self.tokenizer.encode(prompt), wholes, soft_prompt)

    def scores(self, prompt, wholes, soft_prompt=None):
        """As `logprobs`, for the tokens of a prompt, and for those of the prompt with each label."""
        cache, read, vectors = self.reader.cache(1), [], self._vectors(soft_prompt)
        after_vectors = None if vectors is None else self.reader.read_vectors(cache, 0, vectors)
        before = int(cache.lengths[0])

        def next_logprobs(tokens, wanted):
            if not tokens and after_vectors is not None:
                found = log_softmax(after_vectors)
                return {token: float(found[token]) for token in wanted}
            if not tokens and prompt:
                raise ArgumentError(f"a label {SHARED}")
            # What is read already is read on from where the two part; one token at least is read anew, for its logits.
            same = next((i for i, (a, b) in enumerate(zip(read, tokens, strict=False)) if a != b), min(len(read), len(tokens)))
            start = min(same, len(tokens) - 1)
            cache.lengths[0] = before + start
            # The first is the prompt itself.
            part = self.reader.read(cache, 0, list(tokens[start:])) if read else self.reader.read_prompt(cache, 0, list(tokens))
            found = log_softmax(part)
            read[:] = tokens
            return {token: float(found[token]) for token in wanted}

        return score(prompt, wholes, next_logprobs)

    def choose(self, prompt, labels, soft_prompt=None):
        """The likeliest of `labels` after `prompt`, behind a `soft_prompt` if there is one."""
        return labels[int(np.argmax(self.logprobs(prompt, labels, soft_prompt)))]

    def _written(self, wishes):
        found = {number: written for number, _, written in write(self.reader, self.tokenizer, wishes) if written is not None}
        return [found[number] for number in range(len(wishes))]

    def _stream(self, wishes):
        for _, piece, written in write(self.reader, self.tokenizer, wishes):
            if piece:
                yield piece
            if written is not None:
                self._whole(wishes[0], written)

    def _wishes(self, prompts, options):
        known = {"max_tokens", "stop", "seed", "ignore_end", "schema", "grammar", "soft_prompt", *SETTINGS}
        check_options("generate", options, sorted(known))
        check_settings(self.settings, options)
        given = {name: value for name, value in {**self.settings, **options}.items() if name in SETTINGS and value is not None}
        sampling, count = Sampling(**given), options.get("max_tokens", 128)
        if type(count) is not int or count < 0:
            raise ArgumentError(f"max_tokens must be an integer of at least 0, got {count!r}")
        stop = options.get("stop") or ()
        stop = (stop,) if isinstance(stop, str) else in_order("stop", stop)
        if not all(stop):
            raise ArgumentError(f"stop must be texts that are not empty, got {stop!r}")
        seeds = options.get("seed", 0)
        seeds = list(seeds) if isinstance(seeds, (list, tuple)) else [seeds] * len(prompts)
        if len(seeds) != len(prompts):
            raise ArgumentError(f"there are {len(prompts)} prompts and {len(seeds)} seeds; give one for all, or one for each")
        constraint = self._constraint(options.get("schema"), options.get("grammar"), stop)
        ends = frozenset() if options.get("ignore_end") and constraint is None else frozenset(self.tokenizer.ends)
        vectors = self._vectors(options.get("soft_prompt"))
        return [Wish(self._tokens(prompt), count, sampling, stop, ends, seed, constraint=constraint, vectors=vectors)
                for prompt, seed in zip(prompts, seeds, strict=True)]

    def _vectors(self, soft):
        """The vectors of a soft prompt as an array; None where there is none."""
        if soft is None:
            return None
        if not isinstance(soft, Module):
            raise ArgumentError(f"soft_prompt must be a SoftPrompt, got {type(soft).__name__}")
        vectors, width = np.array(soft.vectors.detach(), np.float32), self.network.config.hidden_size
        if vectors.shape[1] != width:
            raise ArgumentError(f"this model has vectors of {width} numbers, and the soft prompt of {vectors.shape[1]}")
        return vectors

    def _constraint(self, schema, grammar, stop):
        if schema is None and grammar is None:
            return None
        if schema is not None and grammar is not None:
            raise ArgumentError("a text is written by a schema or by a grammar, got both")
        if stop:
            raise ArgumentError("a text by a schema or a grammar ends where it is whole; a stop would cut it off before")
        return self._grammars.of(schema) if grammar is None else self._grammars.of_grammar(grammar)

    def _whole(self, wish, written):
        """A text that was written; an AnswerError if it is by a schema and was cut off."""
        if wish.constraint is not None and written.finish_reason != "stop":
            count = len(written.tokens)
            more = "raise max_tokens" if count == wish.max_tokens else (
                f"the context of {self.context} tokens, for which the model was loaded, is full: see `context` of load")
            raise AnswerError(f"the text by the schema was not whole after {count} tokens; {more}, or bound what the schema "
                              f"allows: {written.text!r:.100}")
        return written

    @cached_property
    def _grammars(self):
        return Grammars(self.tokenizer, self.network.config.vocab_size)

    def __getstate__(self):
        # The library's view of the tokens is made anew where it is needed.
        return {name: value for name, value in vars(self).items() if name != "_grammars"}

    def _tokens(self, prompt):
        if isinstance(prompt, str):
            return self.tokenizer.encode(prompt)
        size = self.network.config.vocab_size
        if not all([0 <= token < size for token in prompt]):
            raise ArgumentError(f"a prompt is a text, or a list of tokens from 0 to {size - 1}, got {prompt!r:.80}")
        return prompt


def load(path, *, dtype=None, context=None, activations=None) -> Any:
    """The language model in a folder of Hugging Face's, or in a GGUF file, with its weights mapped from the disk.

    Weights stay as they are in the file, those of 16 bits or less as quantised layers; with `dtype`, such as "float32", they are
    copied, and all can be learned. `context` is the number of tokens that are read, of a prompt and of what follows it, whose last
    one is only written: 4096 unless the model was made for less. With `activations="int8"` layers of quantised weights multiply
    what is rounded to 8 bits, as llama.cpp does: see `rg.quantized_linear`.

    A folder or a file of BERT's is an `Encoder`, which makes vectors of texts and writes none.

    Raises a CheckpointError if a file is missing or damaged, or holds a model of a kind that retrograde does not know.
    """
    path = path_of(path, "a model is loaded from the path of a folder or of a GGUF file")
    dtype = None if dtype is None else weights_dtype(dtype)
    if not path.exists():
        raise StorageError(f"{path} cannot be read: there is no such file or folder, and models are not downloaded")
    model = (_of_folder if path.is_dir() else _of_gguf)(path, dtype, context)
    if activations is not None:
        set_activations(model.network, activations)
    return model


def _of_gguf(path, dtype, context):
    content = gguf.read(path)
    network = network_of_gguf(path, content, dtype)
    tokenizer = tokenizer_of_gguf(content.metadata, network.config.end_tokens, path)
    if network.config.architecture == "bert":
        return Encoder(network, tokenizer)
    return Model(network, tokenizer, template=template_of_gguf(path, content), context=context)


def _of_folder(path, dtype, context):
    network = network_of_folder(path, dtype)
    config, written = network.config, json_if_there(path / "generation_config.json")
    if config.architecture == "bert":
        return Encoder(network, tokenizer_of_folder(path, None, ()))
    where = path / "generation_config.json"
    ends = Facts(where, written).tokens("eos_token_id", config.vocab_size, config.end_tokens)
    tokenizer = tokenizer_of_folder(path, config.start_token, ends)
    return Model(network, tokenizer, settings=settings_of(written, where), template=template_of(path), context=context)

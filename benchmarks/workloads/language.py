"""A language model from its file: texts that are written, prompts that are read, logits, and loading."""

import importlib
import os
from functools import partial

import numpy as np

from .. import model_file

_SENTENCE = "The quick brown fox jumps over the lazy dog and. "
#: How many tokens stand before a text that is written, and how many of those that are written are compared.
_START, _COMPARED = 4, 4
#: A text whose logits are compared, and at every how many of its tokens.
_TEXT, _EVERY = "The quick brown fox jumps over the lazy dog, and sleeps for 10 hours. The capital of France is", 3


class Writing:
    """A step that writes `count` tokens after a prompt of `size`.

    `writes(prompt, count, tells)` gives tokens and, if it is to tell them, their log-probabilities.
    """

    def __init__(self, writes, size, count):
        self._writes, self._prompt, self._count = writes, tokens(_SENTENCE * 200, size), count

    def __call__(self):
        self._writes(self._prompt, self._count, False)

    def outputs(self):
        """The probabilities of the first tokens, and four random numbers for each token, so that another one is far off."""
        found, logprobs = self._writes(self._prompt, min(self._count, _COMPARED), True)
        return [np.exp(logprobs), np.array([np.random.default_rng(token).uniform(-1, 1, 4) for token in found])]


def tokens(text, size):
    """The first tokens of a text, by retrograde's own tokenizer: all rivals read the same."""
    return importlib.import_module("retrograde.models").load(model_file.path()).tokenizer.encode(text)[:size]


def _path(form):
    return model_file.path() if form is None else model_file.requantised(form)


def retrograde(threads, *, form=None, dtype=None, activations=None):
    """What writes with the weights of the file, or with others made of its numbers; `activations` "int8" are what llama.cpp has."""
    rg = importlib.import_module("retrograde")
    rg.set_num_threads(threads)
    model = rg.models.load(_path(form), dtype=dtype, activations=activations)

    def writes(prompt, count, tells):
        options = {"max_tokens": count, "temperature": 0.0, "ignore_end": True}
        if not tells:
            return model.generate(prompt, **options)
        (written,) = model.complete([prompt], **options)
        return written.tokens, written.logprobs

    return writes


def llama_cpp(threads, *, form=None):
    """llama.cpp as it comes, with the file."""
    library = importlib.import_module("xllamacpp")
    settings = library.CommonParams()
    settings.model.path, settings.n_ctx, settings.n_parallel = str(_path(form)), 1024, 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
    settings.verbosity, settings.fit_params, settings.ui = -1, False, False
    server = library.Server(settings)

    def writes(prompt, count, tells):
        options = {"max_tokens": count, "temperature": 0.0, "ignore_eos": True, "cache_prompt": False, "logprobs": int(tells)}
        choice = server.handle_completions({"prompt": list(prompt), **options})["choices"][0]
        content = choice["logprobs"]["content"] if tells else []
        return [entry["id"] for entry in content], [entry["logprob"] for entry in content]

    return writes


def torch(threads):
    """PyTorch with transformers, float32; a loop of its own, which takes less time than `generate`."""
    library, transformers = [importlib.import_module(name) for name in ("torch", "transformers")]
    model = torch_model(threads)

    @library.inference_mode()
    def writes(prompt, count, tells):
        cache, given, found, logprobs = transformers.DynamicCache(), library.tensor([list(prompt)]), [], []
        for _ in range(count):
            logits = model(given, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[0, -1]
            given = logits.argmax().view(1, 1)
            found.append(int(given))
            logprobs += [float(logits.log_softmax(0)[given])] if tells else []
        return found, logprobs

    return writes


def torch_model(threads):
    """The network of transformers with the numbers of the file, float32."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    library, transformers = [importlib.import_module(name) for name in ("torch", "transformers")]
    library.set_num_threads(threads)
    transformers.utils.logging.disable_progress_bar()
    path = model_file.path()
    return transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=library.float32).eval()


def _writing(make, size, count, threads):
    return Writing(make(threads), size, count)


def rivals(made, size, count):
    """Rivals that write, by name: `made` has what makes each."""
    return {name: partial(_writing, make, size, count) for name, make in made.items()}


#: Ours, with activations that are not rounded.
FLOATS = "retrograde, activations in float32"
#: By kind of weights, what makes rivals: on the file, on its numbers in Q8_0, and on those in float32.
KINDS = {
    "file": {"retrograde": partial(retrograde, activations="int8"), "llama.cpp": llama_cpp, FLOATS: retrograde},
    "Q8_0": {"retrograde": partial(retrograde, form="Q8_0", activations="int8"), "llama.cpp": partial(llama_cpp, form="Q8_0"),
             FLOATS: partial(retrograde, form="Q8_0")},
    "float32": {"retrograde": partial(retrograde, dtype="float32"), "torch": torch}}


def written(kind, count=64):
    """Rivals that write tokens one by one."""
    return rivals(KINDS[kind], _START, count)


def read(kind, size=256):
    """Rivals that read a prompt, and give the token after it."""
    return rivals(KINDS[kind], size, 1)


def _our_logits():
    rg = importlib.import_module("retrograde")
    rg.set_num_threads(1)
    network = rg.jit(rg.models.load(model_file.path(), dtype="float32").network)
    given = rg.tensor([tokens(_TEXT, 100)])

    def logits():
        with rg.no_grad():
            return network(given)[0, ::_EVERY]

    return logits


def _their_logits():
    library = importlib.import_module("torch")
    model, given = torch_model(1), library.tensor([tokens(_TEXT, 100)])
    return library.inference_mode()(lambda: model(given, use_cache=False).logits[0, ::_EVERY])


LOGITS = {"retrograde": _our_logits, "torch": _their_logits}


def _our_loading():
    rg = importlib.import_module("retrograde")
    rg.set_num_threads(1)
    load = rg.models.load
    return lambda: load(model_file.path())


def _their_loading():
    importlib.import_module("transformers")
    return lambda: torch_model(1)


LOADING = {"retrograde": _our_loading, "torch": _their_loading}

"""A language model in this process, offline, from its file."""

import functools
import hashlib
import os
import threading
from pathlib import Path
from weakref import WeakValueDictionary

from ...errors import ArgumentError, ModelError
from ...ops.networks.quantized import check_activations
from .engine import check_engine, engine_class, opened
from .in_process import InProcess
from .weights import default_weights

_OPENED, _LOCK = WeakValueDictionary(), threading.Lock()
#: The engine whose answers were kept before there was another.
_FIRST = "llama.cpp"
#: How much of the beginning and of the end of a file is looked at to tell it from others, in bytes.
_PART = 2**20


class LocalModel(InProcess):
    """The weights at `path`, run in this process; without a path, those that the extra `local` installs.

    engine   "llama.cpp" runs a GGUF file, and needs the extra `local`; "retrograde" runs a GGUF file or a folder of Hugging
             Face's that `rg.models.load` reads, by this package's own compiler, and needs the extra `models`. It writes eight
             texts at once, and has gradients: losses of `text.logprobs` say which words of a prompt matter
    context  the tokens that a prompt and its answer may have: 4096, or what the model was made for if that is less
    threads  of llama.cpp; they change the speed alone. Where it is not given, the processors are taken that are idle when the
             weights are loaded. The engine retrograde has those of `rg.set_num_threads`
    is_chat  whether messages are laid out by the template in the file; None asks the file whether it has one
    activations  of the engine retrograde, as of `rg.models.load`: "int8" has quantised weights multiply what is rounded to 8
             bits, as llama.cpp always does; floats unless said otherwise

    The weights are loaded by the first call. A prompt that begins like an earlier one is read from where they part, without any
    change in the answer. A file without a template holds a model that only continues text.
    """

    def __init__(self, path=None, *, engine=_FIRST, context=None, threads=None, is_chat=None, activations=None):
        check_engine(engine)
        if path is not None and not isinstance(path, (str, os.PathLike)):
            raise ArgumentError(f"path is that of a file or a folder, got {path!r:.80}; rg.models.TextModel takes a model that is "
                                "loaded")
        if (context is not None and context < 16) or (threads is not None and threads < 1):
            raise ArgumentError(f"context must be at least 16 and threads at least 1, got {context} and {threads}")
        if threads is not None and engine != _FIRST:
            raise ArgumentError(f"threads are those of llama.cpp, and the engine is {engine}; see rg.set_num_threads")
        check_activations(activations)
        if activations is not None and engine == _FIRST:
            raise ArgumentError('llama.cpp rounds activations to 8 bits in any case; activations are for engine="retrograde"')
        self.path = None if path is None else Path(path)
        self.engine_name, self.context, self.threads = engine, context, threads
        self.is_chat, self.activations, self._loaded = is_chat, activations, {}

    @functools.cached_property
    def weights(self):
        """The path of the weights."""
        return self.path or default_weights()

    @property
    def name(self):
        return f"local {Path(self.path).stem if self.path else 'default'}"

    @functools.cached_property
    def identity(self):
        by = "" if self.engine_name == _FIRST else f" {self.engine_name}"
        by += "" if self.activations is None else f" activations={self.activations}"
        return f"local 2 {self.weights.name} {_fingerprint(self.weights)} chat={self.has_chat} {self.max_tokens}{by}"

    @property
    def max_concurrency(self):
        return engine_class(self.engine_name).max_concurrency

    @property
    def has_gradients(self):
        return engine_class(self.engine_name).has_gradients

    @property
    def engine(self):
        """The weights, loaded in this process. Those of another one, whose threads a fork has not taken along, are left there."""
        process = os.getpid()
        if process not in self._loaded:
            self._loaded[process] = _shared(self.engine_name, self.weights, self.context, self.threads, self.activations, process)
        return self._loaded[process]

    @functools.cached_property
    def has_chat(self):
        if self.is_chat is not None:
            return self.is_chat
        _check_there(self.weights)
        return engine_class(self.engine_name).has_template(self.weights)

    def close(self):
        self._loaded.pop(os.getpid(), None)

    def __getstate__(self):
        kept = ("path", "engine_name", "context", "threads", "is_chat", "activations")
        return {name: vars(self)[name] for name in kept} | {"_loaded": {}}


def _shared(*settings):
    """The engine for these settings, which models share; it goes with the last of them."""
    with _LOCK:
        engine = _OPENED.get(settings)
        if engine is None:
            engine = _OPENED[settings] = opened(*settings[:-1])
        return engine


def _check_there(path):
    if not path.exists():
        raise ModelError(f"there are no weights at {path}")


def _fingerprint(path):
    """A short digest of a file of weights, or of those of a folder: of its size and of what it begins and ends with."""
    _check_there(path)
    found = hashlib.sha256()
    for file in sorted(path.iterdir()) if path.is_dir() else [path]:
        if path.is_dir():
            found.update(file.name.encode())
        if file.is_file():
            size = file.stat().st_size
            with file.open("rb") as content:
                found.update(content.read(_PART))
                content.seek(max(size - _PART, 0))
                found.update(content.read() + str(size).encode())
    return found.hexdigest()[:16]

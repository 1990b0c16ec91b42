"""Write texts with a language model from a file.

PATH is a GGUF file, or a folder of Hugging Face's with config.json, tokenizer.json and safetensors.
"""

import sys

from ..errors import ArgumentError
from ..models import Model, load, load_adapter


def generate(options):
    """Continue a text, or what stands on the standard input; returns the exit code."""
    prompt = sys.stdin.read() if options.prompt == "-" else options.prompt
    model = loaded(options)
    _shown(model.generate(prompt, stream=True, **_settings(options)))
    return 0


def chat(options):
    """Answer messages, one a line, until an empty one or the end of the input; returns the exit code."""
    model = loaded(options)
    messages = [{"role": "system", "content": options.system}] if options.system else []
    while (line := _asked()) is not None:
        messages.append({"role": "user", "content": line})
        messages.append({"role": "assistant", "content": _shown(model.chat(messages, stream=True, **_settings(options)))})
    return 0


def loaded(options):
    """The model of the options, which must be one that writes."""
    model = load(options.model, context=options.context, activations=options.activations)
    if not isinstance(model, Model):
        raise ArgumentError(f"{options.model} is a model that reads texts and writes none")
    if options.adapter is not None:
        load_adapter(model, options.adapter)
    return model


def _asked():
    """The next line of the user; None where there is none."""
    if sys.stdin.isatty():
        print("> ", end="", flush=True)
    return sys.stdin.readline().strip() or None


def _shown(pieces):
    """Print a text as it is written; the text."""
    found = []
    for piece in pieces:
        print(piece, end="", flush=True)
        found.append(piece)
    print()
    return "".join(found)


def _settings(options):
    """The options of `generate` that were given."""
    names = ("max_tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "stop", "seed", "ignore_end")
    return {name: value for name in names if (value := getattr(options, name)) is not None}

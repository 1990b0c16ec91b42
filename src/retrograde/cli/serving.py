"""Serve a language model from a file to programs that speak to OpenAI's server, on this machine.

PATH is a GGUF file, or a folder of Hugging Face's with config.json, tokenizer.json and safetensors.
"""

import os

from ..errors import ArgumentError
from ..serve import serve as served
from .writing import loaded


def serve(options):
    """Serve until interrupted; returns the exit code."""
    key = os.environ.get(options.key_env) if options.key_env else None
    if options.key_env and not key:
        raise ArgumentError(f"the environment has no variable {options.key_env}; set it to the key")
    served(loaded(options), options.name or options.model.stem, host=options.host, port=options.port, key=key,
           waiting=options.waiting, told=lambda line: print(line, flush=True))
    return 0

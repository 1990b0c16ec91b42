"""Serve a language model from a file to programs that speak to OpenAI's server, on this machine.

PATH is a GGUF file, or a folder of Hugging Face's with config.json, tokenizer.json and safetensors.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import ArgumentError
from ..serve import serve as served
from .writing import loaded


@dataclass(frozen=True)
class ServingOptions:
    """What `serve` is to do; `name` None stands for that of the file."""

    model: Path
    name: str | None = None
    host: str = "127.0.0.1"
    port: int = 8000
    context: int | None = None
    waiting: int = 128
    key_env: str | None = None
    adapter: Path | None = None


def serve(options):
    """Serve until interrupted; returns the exit code."""
    key = os.environ.get(options.key_env) if options.key_env else None
    if options.key_env and not key:
        raise ArgumentError(f"the environment has no variable {options.key_env}; set it to the key")
    served(loaded(options), options.name or options.model.stem, host=options.host, port=options.port, key=key,
           waiting=options.waiting, told=lambda line: print(line, flush=True))
    return 0


def add_serve(parser, whole):
    """The arguments of `retrograde serve`; `whole(least, most)` reads an integer."""
    usual = ServingOptions(Path())
    parser.add_argument("--model", type=Path, required=True, metavar="PATH", help="a GGUF file, or a folder of Hugging Face's")
    parser.add_argument("--name", metavar="NAME", help="what requests call the model (default: the name of the file)")
    parser.add_argument("--adapter", type=Path, metavar="FOLDER", help="what `retrograde finetune` or peft has written")
    parser.add_argument("--host", default=usual.host, help="the address to listen at; others than this machine reach it only if it "
                        "is another one (default: %(default)s)")
    parser.add_argument("--port", type=whole(1, 65535), default=usual.port, metavar="N", help="(default: %(default)s)")
    parser.add_argument("--context", type=whole(2, 10**7), metavar="N", help="the longest text, in tokens (default: at most 4096)")
    parser.add_argument("--waiting", type=whole(1, 10**6), default=usual.waiting, metavar="N",
                        help="texts that wait while eight are written; more are refused (default: %(default)s)")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the variable of the environment with the key that requests need")

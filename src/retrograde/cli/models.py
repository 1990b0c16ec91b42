"""The language models that the options of `tune` name."""

import os
from contextlib import ExitStack, contextmanager

from .. import text
from ..compiler.backends import set_num_threads
from ..errors import ArgumentError
from ..extras import optional
from ..text.models.weights import PACKAGE

#: What a writer is called where nobody is asked.
NOBODY = "none"


def require(options):
    """Find missing libraries and contradictions before anything is computed."""
    optional("rich.console", "tune")
    asked = {name: getattr(options, name) for name in ("base_url", "key_env", "headers", "header_env", "query", "price")}
    if not _is_local(options.model, options):
        optional("httpx", "text")
        return
    needless = [f"--{name.replace('_', '-').removesuffix('s')}" for name, value in asked.items() if value]
    if needless:
        raise ArgumentError(f"{', '.join(needless)} goes with a model behind a server; name it with --model")
    if options.engine != "retrograde":
        optional("xllamacpp", "tune")
    elif options.threads is not None:
        set_num_threads(options.threads)
    if options.model is None:
        optional(PACKAGE, "tune")


@contextmanager
def opened(options):
    """(the model, the judge or None, the writer as `text.tune` takes it), open within the block."""
    with ExitStack() as stack:
        made = {}

        def model(name):
            if name not in made:
                made[name] = stack.enter_context(_model(name, options))
            return made[name]

        judge = None if options.judge is None else model(options.judge)
        writer = None if options.writer is None else False if options.writer == NOBODY else model(options.writer)
        yield model(options.model), judge, writer


def _model(name, options):
    if _is_local(name, options):
        if options.engine == "retrograde":
            return text.LocalModel(name, engine=options.engine)
        return text.LocalModel(name, threads=options.threads)
    settings = {"base_url": options.base_url} if options.base_url else {}
    if options.key_env is not None:
        settings["api_key"] = _variable(options.key_env)
    headers = {**options.headers, **{name: _variable(variable) for name, variable in options.header_env.items()}}
    price = None if options.price is None else text.Price(*options.price)
    return text.HTTPModel(name, **settings, headers=headers, query=options.query, labels_by=options.labels_by, price=price)


def _is_local(name, options):
    return name is None or name.endswith(".gguf") or options.engine is not None


def _variable(name):
    """The value of a variable of the environment; the name alone stands in an error."""
    if not os.environ.get(name):
        raise ArgumentError(f"the environment has no variable {name}; set it to the key")
    return os.environ[name]

"""The model that is used where none is named."""

import functools
import os

from .http_model import HTTPModel
from .local import LocalModel

_OPENAI = "https://api.openai.com/v1"


def default_model():
    """The model that the environment names, or else the local one, offline.

    RETROGRADE_MODEL is a path that ends in .gguf, or a model's name at RETROGRADE_BASE_URL (OpenAI's own where that is not
    set), with the key in RETROGRADE_API_KEY. A key alone changes nothing: a paid model is used only when it is named. With
    RETROGRADE_ENGINE, an engine of a LocalModel, it is a path whatever it ends in.
    """
    names = ("RETROGRADE_MODEL", ""), ("RETROGRADE_BASE_URL", _OPENAI), ("RETROGRADE_ENGINE", "")
    return _model(*[os.environ.get(name, usual) for name, usual in names])


@functools.lru_cache(maxsize=1)
def _model(name, base_url, engine):
    if not name or name.endswith(".gguf") or engine:
        return LocalModel(name or None, **({"engine": engine} if engine else {}))
    return HTTPModel(name, base_url=base_url)

"""Extras: libraries that retrograde can do without. Nothing else imports one."""

import importlib

from .errors import MissingExtraError


def optional(module, extra):
    """The module called `module`; a MissingExtraError that says which `extra` installs it, if it is not there.

    >>> rg.extras.optional("json", "io").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if (error.name or "").partition(".")[0] != library:
            raise
        raise MissingExtraError(f"this needs {library}; install it with: pip install 'retrograde[{extra}]'") from None

"""Extras: libraries that retrograde can do without. Nothing else imports one."""

import importlib

from .errors import MissingExtraError

#: What runs the weights of a `text.LocalModel`, by name: functions that load the class of an `Engine`. Some stand in layers above
#: the one that asks, so that whoever puts the package together enters them, and others may enter theirs.
engines = {}


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

"""`torch.jit`: nothing is done; `torch.compile` compiles."""

import warnings

from .absent import absent_from

__all__ = ["ignore", "is_scripting", "is_tracing", "script", "trace", "unused"]


def _as_it_is(name, function):
    warnings.warn(f"torch.jit.{name} returns what it is given; use torch.compile to compile it", UserWarning, stacklevel=3)
    return function


def script(obj=None, *_, **__):
    """`obj` as it is, with a warning: `torch.compile` compiles."""
    return _as_it_is("script", obj)


def trace(func, example_inputs=None, *_, **__):
    """`func` as it is, with a warning: `torch.compile` compiles."""
    return _as_it_is("trace", func)


def ignore(function=None, **_):
    """`function` as it is."""
    return function if callable(function) else lambda f: f


unused = export = ignore


def is_scripting():
    """False."""
    return False


is_tracing = is_scripting
__getattr__ = absent_from("torch.jit", lambda: __all__)

"""Core: the engine, which knows neither numbers nor text.

What HIPS autograd keeps in its core and ours has further up, such as `make_vjp`, is found here by what the package provides.
"""

_elsewhere = []


def provide(find):
    """Let `find(name)` give what the core has not got itself; it raises an AttributeError for what is unknown."""
    _elsewhere[:] = [find]


def __getattr__(name):
    if _elsewhere and not name.startswith("__"):
        return _elsewhere[0](name)
    raise AttributeError(f"retrograde.core has no attribute {name!r}")

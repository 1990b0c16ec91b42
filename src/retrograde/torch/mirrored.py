"""Modules of `rg` that are PyTorch's by other paths: their public names."""


def public(module):
    """The public names of a module of `rg` that its package defines, with what they are."""
    package = module.__name__.rpartition(".")[0]
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith(package)]
    return {name: getattr(module, name) for name in sorted(names)}

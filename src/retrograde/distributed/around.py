"""Around: a module around a model, which is that model to all who ask for names, modes or states."""

from ..nn.module import Module


class Around(Module):
    """Base of what several processes train: `module` is what this one holds."""

    def __init__(self, model):
        super().__init__()
        self.module = model

    def own(self, kind):
        return self.module.own(kind)

    def own_buffers(self):
        return self.module.own_buffers()

    def get_submodule(self, target):
        return self.module.get_submodule(target)

    @property
    def _unsaved(self):
        return self.module._unsaved  # noqa: SLF001 - of our own kind

    def __getattr__(self, name):
        if name.startswith("__") or "module" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.module, name)

    @property
    def training(self):
        """Whether the model is being trained."""
        return self.module.training

    @training.setter
    def training(self, mode):
        self.module.training = mode

"""Module, what programs of text are made of: named text parameters beside layers of numbers."""

from ..errors import CheckpointError
from ..nn import module as nn
from .algebra import texts
from .optimizer import written
from .variable import Parameter


class Module(nn.Module):
    """Base of programs with text parameters. Subclass it, set parameters and modules as attributes, define `forward`.

    It is an `nn.Module` too: `parameters()` lists the numeric parameters, for numeric optimizers, and `text_parameters()`
    those of text; `state_dict` holds both.

    >>> class Summary(rg.text.Module):
    ...     def __init__(self, model):
    ...         super().__init__()
    ...         self.model = model
    ...         self.system = rg.text.Parameter("Summarise.", role="system prompt")
    ...     def forward(self, page):
    ...         return rg.text.chat(self.model, [("system", self.system), ("user", page)])
    >>> Summary(None).state_dict()
    {'system': 'Summarise.'}
    """

    def __setattr__(self, name, value):
        if isinstance(self.__dict__.get(name), Parameter) and isinstance(value, (str, int, float, list)):
            written([(self.__dict__[name], value)])
        else:
            super().__setattr__(name, value)

    def named_text_parameters(self, prefix=""):
        """(name, parameter) of all text parameters, each once, under its first name."""
        seen = set()
        for name, parameter in self._named_texts(prefix):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield name, parameter

    def text_parameters(self):
        """All text parameters, each once."""
        return [parameter for _, parameter in self.named_text_parameters()]

    def _named_texts(self, prefix=""):
        return self._named(lambda module: module.own(Parameter), prefix, True)

    def zero_grad(self, set_to_none=True):
        """Forget the gradients and the feedback of all parameters."""
        super().zero_grad(set_to_none)
        for parameter in self.text_parameters():
            parameter.zero_grad()

    def requires_grad_(self, requires_grad=True):
        """Set whether the parameters of both kinds receive gradients."""
        for parameter in self.text_parameters():
            parameter.requires_grad = requires_grad
        return super().requires_grad_(requires_grad)

    def state_dict(self, prefix="", keep_vars=False, destination=None):
        """Name and value of every parameter and buffer: tensors, and strings or lists where they are text."""
        found = {} if destination is None else destination
        found.update({prefix + name: parameter.detach().data for name, parameter in self._named_texts()})
        return super().state_dict(prefix, keep_vars, found)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Take over text and tensors of the same names; nothing is changed if something does not fit."""
        own = dict(self._named_texts())
        given = {name: value for name, value in state_dict.items() if name in own}
        faults = [f"{name} is text and was given {type(value).__name__}" for name, value in given.items()
                  if not isinstance(value, (str, int, float, list, texts.kind))]
        faults += [f"no text for {name}" for name in own if strict and name not in given]
        if faults:
            raise CheckpointError(f"these do not fit {type(self).__name__}: {'; '.join(faults)}")
        found = super().load_state_dict({k: v for k, v in state_dict.items() if k not in own}, strict, assign)
        written([(own[name], value.data if isinstance(value, texts.kind) else value) for name, value in given.items()])
        return found

    def extra_repr(self):
        """The text parameters, beside what `nn.Module` shows."""
        return ", ".join(f"{name}={parameter.data!r:.60}" for name, parameter in self.own(Parameter))

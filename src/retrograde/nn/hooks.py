"""Hooks of a module: what is called before and after its forward pass, and in its backward pass."""

from typing import Any, NamedTuple

from ..core.edits import edited
from ..core.function import Function
from ..core.value import HookHandle, Value
from ..errors import DTypeError


class Hook(NamedTuple):
    """A hook of a module, and how it is called: with the keyword arguments, and also when the forward pass fails."""

    call: Any
    with_kwargs: bool = False
    always_call: bool = False


class Hooks:
    """The hooks of one module, in the order in which they are called."""

    def __init__(self):
        self._hooks = {"before": [], "after": [], "backward before": [], "backward": []}

    def add(self, when, hook, prepend=False):
        """Add a `Hook` to those called `when`, as the last or the first; returns its handle."""
        hooks = self._hooks[when]
        hooks.insert(0 if prepend else len(hooks), hook)
        edited()
        return HookHandle(hooks, hook)

    def listed(self):
        """All of them, for those who must know of changes."""
        return [list(hooks) for hooks in self._hooks.values()]

    def restore(self, listed):
        """Have the hooks again that `listed` gave, or none."""
        for place, hooks in enumerate(self._hooks.values()):
            hooks[:] = listed[place] if listed else ()
        edited()

    def run(self, module, args, kwargs):
        """The output of `module.forward`, with the hooks around it."""
        left = [hook for hook in self._hooks["after"] if hook.always_call]
        try:
            for hook in tuple(self._hooks["before"]):
                args, kwargs = _replaced(hook, module, args, kwargs)
            is_watched = self._hooks["backward"] or self._hooks["backward before"]
            output = self._run_watched(module, args, kwargs) if is_watched else module.forward(*args, **kwargs)
            for hook in tuple(self._hooks["after"]):
                left = [other for other in left if other is not hook]
                answer = hook.call(module, args, kwargs, output) if hook.with_kwargs else hook.call(module, args, output)
                output = output if answer is None else answer
        except BaseException:
            for hook in left:
                _ = hook.call(module, args, kwargs, None) if hook.with_kwargs else hook.call(module, args, None)
            raise
        return output

    def _run_watched(self, module, args, kwargs):
        """The output of the forward pass between two gates, which see the gradients on their way back."""
        watch = _Watch(module, tuple(self._hooks["backward before"]), tuple(self._hooks["backward"]))
        places = [i for i, a in enumerate(args) if isinstance(a, Value)]
        watch.has_inputs = any(args[i].requires_grad for i in places)
        if places:
            opened = iter(_Entrance.apply(watch, *[args[i] for i in places]))
            args = tuple([next(opened) if i in places else a for i, a in enumerate(args)])
        output = module.forward(*args, **kwargs)
        outputs = output if isinstance(output, tuple) else (output,)
        if not all(isinstance(o, Value) for o in outputs):
            return output
        outputs = _Exit.apply(watch, *outputs)
        return outputs if isinstance(output, tuple) else outputs[0]


def _replaced(hook, module, args, kwargs):
    """The arguments of the forward pass after `hook` has seen them."""
    if not hook.with_kwargs:
        answer = hook.call(module, args)
        return args if answer is None else _tuple(answer), kwargs
    answer = hook.call(module, args, kwargs)
    if answer is None:
        return args, kwargs
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise DTypeError(f"a forward pre-hook with keyword arguments returns None or (args, kwargs), got {answer!r}")
    return answer


def _tuple(answer):
    return answer if isinstance(answer, tuple) else (answer,)


class _Watch:
    """What the two gates of one call share: the module, its hooks and the gradients of its outputs."""

    def __init__(self, module, before, after):
        self.module, self.before, self.after, self.grad_output, self.has_inputs = module, before, after, None, False

    def seen(self, grad_output):
        """`grad_output` after the first hooks have seen it."""
        for hook in self.before:
            answer = hook.call(self.module, grad_output)
            grad_output = grad_output if answer is None else _tuple(answer)
        self.grad_output = grad_output
        return grad_output

    def called(self, grad_input):
        """`grad_input` after the hooks have seen it."""
        for hook in self.after:
            answer = hook.call(self.module, grad_input, self.grad_output)
            grad_input = grad_input if answer is None else _tuple(answer)
        return grad_input


class _Passing(Function):
    """Values as they are, seen by a watch on the way back."""

    @staticmethod
    def forward(ctx, watch, *values):
        ctx.watch = watch
        ctx.set_materialize_grads(False)
        return tuple(values)


class _Entrance(_Passing):
    """The arguments of a module as they are; on the way back, its hooks are called."""

    @staticmethod
    def backward(ctx, *gradients):
        return None, *ctx.watch.called(gradients)


class _Exit(_Passing):
    """The outputs of a module as they are; on the way back, their gradients are noted for the entrance."""

    @staticmethod
    def backward(ctx, *gradients):
        watch = ctx.watch
        gradients = watch.seen(gradients)
        if not watch.has_inputs:
            watch.called((None,))
        return None, *gradients

"""Hooks of a module: what is called before and after its forward pass, and in its backward pass."""

from ..core.function import Function
from ..core.value import HookHandle, Value


class Hooks:
    """The hooks of one module, in the order in which they were added."""

    def __init__(self):
        self._before, self._after, self._backward = [], [], []

    def add(self, when, hook):
        """Append `hook` to those called "before", "after" or "backward"; returns its handle."""
        hooks = {"before": self._before, "after": self._after, "backward": self._backward}[when]
        hooks.append(hook)
        return HookHandle(hooks, hook)

    def run(self, module, args, kwargs):
        """The output of `module.forward`, with the hooks around it."""
        for hook in tuple(self._before):
            answer = hook(module, args)
            if answer is not None:
                args = answer if isinstance(answer, tuple) else (answer,)
        output = self._run_watched(module, args, kwargs) if self._backward else module.forward(*args, **kwargs)
        for hook in tuple(self._after):
            answer = hook(module, args, output)
            output = output if answer is None else answer
        return output

    def _run_watched(self, module, args, kwargs):
        """The output of the forward pass between two gates, which see the gradients on their way back."""
        watch = _Watch(module, tuple(self._backward))
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


class _Watch:
    """What the two gates of one call share: the module, its hooks and the gradients of its outputs."""

    def __init__(self, module, hooks):
        self.module, self.hooks, self.grad_output, self.has_inputs = module, hooks, None, False

    def called(self, grad_input):
        """`grad_input` after the hooks have seen it."""
        for hook in self.hooks:
            answer = hook(self.module, grad_input, self.grad_output)
            if answer is not None:
                grad_input = answer if isinstance(answer, tuple) else (answer,)
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
        watch.grad_output = gradients
        if not watch.has_inputs:
            watch.called((None,))
        return None, *gradients

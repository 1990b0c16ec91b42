"""How PyTorch runs the cases of layers."""

import numpy as np
import torch

from layer_cases import flat


class Theirs:
    """`layer_cases.Ours` for PyTorch, in `dtype`."""

    def __init__(self, dtype=torch.float32):
        self.dtype = dtype

    def _tensor(self, x):
        tensor = torch.tensor(x)
        return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

    def layer(self, case):
        """The layer of a case in its mode, with weights."""
        layer = getattr(torch.nn, case.name)(*case.args, **case.kwargs).to(self.dtype).train(case.phase == "train")
        weights = case.weights({name: tuple(x.shape) for name, x in layer.state_dict().items()})
        layer.load_state_dict({name: self._tensor(x) for name, x in weights.items()})
        return layer

    def call(self, case, layer, inputs):
        """(results, gradients of the floats among the inputs that were drawn) after one call."""
        options = {k: self._tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.options.items()}
        inputs = [self._tensor(x).requires_grad_(is_drawn) for x, is_drawn in zip(inputs, case.differentiable, strict=True)]
        outputs = flat(layer(*inputs * case.uses, **options))
        terms = [(z * self._tensor(case.cotangent(i, tuple(z.shape)))).sum() for i, z in enumerate(outputs) if z.requires_grad]
        if terms:
            sum(terms).backward()
        return [z.detach().numpy() for z in outputs], [x.grad.numpy() for x in inputs if x.grad is not None]

    def state(self, layer):
        """By name the gradients of the parameters, and the buffers."""
        return {f"gradient of {name}": p.grad.numpy() for name, p in layer.named_parameters() if p.grad is not None} | {
            f"buffer {name}": b.numpy() for name, b in layer.named_buffers()}

    def function(self, case):
        """The function of a case, with the arguments that are not inputs."""
        return lambda *inputs: getattr(torch.nn.functional, case.name)(*inputs, *case.args, **case.kwargs)

"""The same calls with PyTorch and with `retrograde.torch`, and how their answers are compared."""

import numpy as np


def inputs(torch, dtype="float32"):
    """The tensors that calls name, with equal numbers for each `torch`."""
    draw = np.random.default_rng(7)
    square = draw.normal(size=(3, 3))
    floats = {"x": draw.normal(size=(3, 4)), "y": draw.normal(size=(3, 4)), "p": draw.uniform(0.1, 0.9, (3, 4)), "v": draw.normal(size=4),
              "w": draw.normal(size=3), "a": square, "s": square @ square.T + 2 * np.eye(3), "c": draw.normal(size=(2, 3, 4)),
              "z": np.array(1.5)}
    others = {"i": draw.integers(-4, 5, (3, 4)), "j": draw.integers(-4, 5, (3, 4)) * 2 + 1, "k": draw.integers(0, 4, (3, 4)),
              "b": draw.uniform(size=(3, 4)) > 0.5, "n": np.array([[2, 0], [1, 2], [0, 1]])}
    found = {name: torch.tensor(value.astype(dtype), requires_grad=True) for name, value in floats.items()}
    return {**found, **{name: torch.tensor(value) for name, value in others.items()}, "torch": torch, "F": torch.nn.functional}


def leaves(found):
    """The parts of an answer: tensors and Python values."""
    return [leaf for part in found for leaf in leaves(part)] if isinstance(found, (tuple, list)) else [found]


def array(x):
    """The numbers of a tensor of either kind."""
    return np.asarray(x.detach().resolve_conj().numpy())


def told(x):
    """Shape, dtype and whether a gradient flows, of a tensor; a value of Python's as text."""
    if hasattr(x, "detach"):
        return tuple(x.shape), str(x.dtype).removeprefix("torch."), bool(x.requires_grad)
    return str(x).removeprefix("torch.")


def gradients(found, given):
    """The gradients of the sum of all floats of an answer, by the names of inputs."""
    floats = [x for x in leaves(found) if hasattr(x, "detach") and x.requires_grad]
    if not floats:
        return {}
    total = sum([(x * x).sum() if not x.is_complex() else (x.real**2 + 2 * x.imag).sum() for x in floats])
    total.backward()
    return {name: array(x.grad) for name, x in given.items() if len(name) == 1 and name != "F" and x.grad is not None}

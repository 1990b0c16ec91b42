"""A call that does almost nothing: 1 is added to one number. What it takes is what every call takes."""

import numpy as np

from . import libraries


def retrograde():
    """Compiled."""
    rg = libraries.modules("retrograde").library
    return _called(rg.jit(_plus_one), rg.tensor(_number()))


def torch():
    """Op by op."""
    return _called(_plus_one, libraries.modules("torch").tensor(_number()))


def torch_compile():
    """Compiled."""
    lib = libraries.modules("torch").library
    return _called(lib.compile(_plus_one), lib.tensor(_number()))


def jax():
    """Compiled."""
    lib = libraries.jax()
    add, x = lib.jit(_plus_one), lib.numpy.asarray(_number())
    return lambda: add(x).block_until_ready()


def tinygrad():
    """Captured."""
    lib = libraries.tinygrad()
    add, x = lib.TinyJit(lambda x: (x + 1).realize()), lib.Tensor(_number()).realize()

    def step():
        found = add(x)
        lib.finish()
        return found

    return step


def _called(function, x):
    return lambda: function(x)


def _plus_one(x):
    return x + 1


def _number():
    return np.array([1.5], np.float32)


RIVALS = {"retrograde": retrograde, "torch": torch, "torch.compile": torch_compile, "jax": jax, "tinygrad": tinygrad}

"""Which memory the tensors of a file share: each stretch that some of them cover, without a gap, becomes one storage."""

import numpy as np

from ...errors import CheckpointError, DTypeError, TraceError
from .formats import CLASS_OF, UNTYPED


class Stretch:
    """A stretch of memory: its address, its length in bytes, the type of the elements in it, and its key."""

    def __init__(self, start, stop, dtype):
        self.start, self.stop, self.dtype, self.key = start, stop, dtype, None

    @property
    def count(self):
        """How many elements it has; of a type without storages of its own, how many bytes."""
        return (self.stop - self.start) // (1 if self.dtype.name in UNTYPED else self.dtype.itemsize)

    def content(self):
        """Its bytes, which the tensors keep alive."""
        return np.asarray(_Memory(self.start, self.stop - self.start)) if self.stop > self.start else np.empty(0, np.uint8)


class _Memory:
    def __init__(self, address, size):
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}


def array_of(tensor):
    """The array of a tensor in the form that files have: native, and without negative steps."""
    if tensor.is_traced:
        raise TraceError("torch.save cannot write a value that is being traced; save outside of the compiled function")
    array = np.asarray(tensor.detach().to("cpu").raw)
    if array.dtype not in CLASS_OF and array.dtype.name not in UNTYPED:
        raise DTypeError(f"torch.save cannot write a tensor of {array.dtype}, which PyTorch has not; convert it with x.to(...)")
    steps = [step for step, n in zip(array.strides, array.shape, strict=True) if n > 1]
    if not array.dtype.isnative or any([step < 0 or step % array.itemsize for step in steps]):
        return array.astype(array.dtype.newbyteorder("="), order="C")
    return array


def stretches(arrays):
    """The stretch of each of `arrays`; those that overlap, directly or through others, have one. Keys count them in this order."""
    bounds = [_bounds(array) for array in arrays]
    found, last = {}, None
    for i in sorted(range(len(arrays)), key=lambda i: (bounds[i][0], -bounds[i][1])):
        (start, stop), dtype = bounds[i], arrays[i].dtype
        if last is None or start >= last.stop or start == stop:
            found[i] = Stretch(start, stop, dtype)
            last = found[i] if start < stop else last
            continue
        if last.dtype != dtype or (start - last.start) % dtype.itemsize:
            raise CheckpointError(f"two tensors of {last.dtype} and {dtype} share memory, which a file cannot say; save a clone() "
                                  "of one of them")
        last.stop, found[i] = max(last.stop, stop), last
    for key, stretch in enumerate(dict.fromkeys([found[i] for i in range(len(arrays))])):
        stretch.key = key
    return [found[i] for i in range(len(arrays))]


def strides_of(array):
    """The steps of an array in elements; along axes of one element, or none, those of an array in row-major order."""
    found, step = [], 1
    for n, given in zip(array.shape[::-1], array.strides[::-1], strict=True):
        found.append(given // array.itemsize if n > 1 and array.size else step)
        step = max(n, 1) * found[-1]
    return tuple(found[::-1])


def _bounds(array):
    """The addresses of the first byte, and of that after the last."""
    start = array.__array_interface__["data"][0]
    if not array.size:
        return start, start
    reach = sum([(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)])
    return start, start + reach + array.itemsize

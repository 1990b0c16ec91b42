"""What PyTorch has and this package has not: an error that names what to use."""

from difflib import get_close_matches

#: What to write for names of a module of PyTorch's, by the module.
HINTS = {
    "torch": {
        "hub": "weights saved with torch.save, or safetensors", "onnx": "the layers of nn",
        "multiprocessing": "threads or processes of Python's",
        "set_default_tensor_type": "torch.set_default_dtype", "symeig": "torch.linalg.eigh", "qr": "torch.linalg.qr",
        "svd": "torch.linalg.svd", "lstsq": "torch.linalg.lstsq", "solve": "torch.linalg.solve", "fft": "torch.fft.fft",
        "bmm_out": "torch.bmm", "as_strided": "x.unfold, x[...], or torch.gather",
        "quantize_per_tensor": "x.to(torch.int8), with a scale",
        "profiler": "f.profile(...) of what torch.compile gives, or cProfile", "distributed": "threads, which need no call",
        "histc": "np.histogram(x.numpy())", "stft": "torch.fft.rfft of x.unfold(-1, n_fft, hop)", "range": "torch.arange",
    },
    "torch.nn": {"SyncBatchNorm": "nn.BatchNorm2d"},
    "torch.utils": {},
}


def absent_from(module, names):
    """The `__getattr__` of a module of the package that has `names()`."""

    def missing(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        raise AbsentNameError(module, name, names)

    return missing


class AbsentNameError(AttributeError):
    """A name that `module` has not; `names()` are those that it has.

    Its message is made when it is read: `hasattr` and `getattr` with a default raise it to no one, and to look for names like it
    takes a millisecond.
    """

    def __init__(self, module, name, names):
        super().__init__(name=name)
        self._module, self._name, self._names = module, name, names

    def __str__(self):
        hint = HINTS.get(self._module, {}).get(self._name)
        close = get_close_matches(self._name, self._names(), 1, 0.8)
        advice = f"; use {hint}" if hint else f"; did you mean {self._module}.{close[0]}?" if close else ""
        return f"{self._module}.{self._name} is not among what retrograde.torch has{advice}"

    def __reduce__(self):
        return AttributeError, (str(self),)

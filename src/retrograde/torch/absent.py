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
        hint = HINTS.get(module, {}).get(name)
        close = get_close_matches(name, names(), 1, 0.8)
        advice = f"; use {hint}" if hint else f"; did you mean {module}.{close[0]}?" if close else ""
        raise AttributeError(f"{module}.{name} is not among what retrograde.torch has{advice}", name=name)

    return missing

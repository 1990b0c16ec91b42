"""Models in ONNX, the format in which other runtimes and frameworks take them.

`rg.onnx.load(path)` gives a module that can be trained on; `rg.onnx.export(model, arguments, path)` writes one. The extra `onnx`
installs what they need.
"""

from . import emitters, rules
from .exporting import export
from .model import OnnxModel, load

__all__ = ["OnnxModel", "export", "load"]

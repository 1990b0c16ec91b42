"""`torch.onnx`: present, so that programs may import it; `rg.onnx` is what exports."""

from ..errors import ArgumentError

__all__ = ["export"]


def export(*_, **__):
    """An error: there is no ONNX here."""
    raise ArgumentError("torch.onnx exports nothing here; retrograde.onnx.export(model, arguments, path) does, for modules of "
                        "this package too")

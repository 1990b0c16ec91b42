"""`torch.onnx`: present, so that programs may import it; nothing is exported."""

from ..errors import ArgumentError

__all__ = ["export"]


def export(*_, **__):
    """An error: there is no ONNX here."""
    raise ArgumentError("torch.onnx exports nothing here; keep the weights with torch.save(model.state_dict(), path)")

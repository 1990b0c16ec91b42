"""Reading a model: from a file or bytes to a ModelProto whose versions are known."""

import os
from pathlib import Path

from ..errors import OnnxError
from ..io.bounded import opened
from .library import onnx
from .scanning import check_modest

#: What ONNX calls its own operators in two ways.
_DEFAULT = "ai.onnx"
#: The most bytes of a file in this format: that is how far protocol buffers count.
_MOST_BYTES = 2**31 - 1


def read_model(source):
    """(ModelProto, folder in which its external data may lie) of a path, of bytes, or of a ModelProto."""
    library = onnx()
    if isinstance(source, library.ModelProto):
        return source, None
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _parsed(bytes(source), "the model"), None
    if not isinstance(source, (str, os.PathLike)):
        raise OnnxError(f"a model is a path, bytes or an onnx.ModelProto, got {type(source).__name__}")
    path = Path(source)
    with opened(path) as (file, size):
        if size > _MOST_BYTES:
            raise OnnxError(f"{path} has {size} bytes, more than a model in this format can have")
        return _parsed(file.read(), str(path)), path.parent


def _parsed(content, name):
    check_modest(content, name)
    model = onnx().ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as error:  # noqa: BLE001 - which class it is depends on how protobuf was built
        raise OnnxError(f"{name} is no model in ONNX, or is damaged: {error}") from None
    if not model.HasField("graph"):
        raise OnnxError(f"{name} is no model in ONNX, or is damaged: it holds no graph")
    return model


def versions_of(imports, name):
    """{domain: version of its operators} of opset imports; an OnnxError for what is missing or newer than the onnx package."""
    found = {domain_of(each.domain): each.version for each in imports}
    if not found:
        raise OnnxError(f"{name} does not say which version of the operators it uses")
    newest = onnx().defs.onnx_opset_version()
    if not 0 < found.get("", newest) <= newest:
        raise OnnxError(f"{name} uses version {found['']} of the operators, and the onnx package knows 1 to {newest}; install a "
                        "newer one")
    return found


def names_of(values, what):
    """`values` as a tuple of texts; an OnnxError if one is none, which protobuf tells by giving bytes."""
    found = tuple(values)
    if any(not isinstance(name, str) for name in found):
        raise OnnxError(f"{what} has a name that is not UTF-8: {found}")
    return found


def domain_of(name):
    """A domain as it is looked up: operators of ONNX's own have an empty one."""
    return "" if name == _DEFAULT else name

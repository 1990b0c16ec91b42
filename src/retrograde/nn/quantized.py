"""Layers whose weights are quantised: small integers in blocks, each with its scale."""

from ..errors import ArgumentError, ShapeError
from ..ops.manipulation.gathering import take
from ..ops.networks._quantizing import FORMATS, packed
from ..ops.networks.quantized import check_activations, dequantize, quantized_linear
from ..tensor.creation import asarray
from .linear import Linear
from .module import Module
from .parameter import Buffer, Parameter

#: Short names of formats.
NAMES = {"int8": "Q8_0", "q4": "Q4_1", "q5": "Q5_1"}


class QuantizedLinear(Module):
    """`x @ weight.T + bias` by quantised weights: `blocks` is (out_features, bytes), in the format called `format`.

    The weights are not learned; gradients go to `x` and to the bias. Make one of a layer by `QuantizedLinear.of(layer, "int8")`.
    With `activations="int8"` the numbers of `x` are rounded to 8 bits first: see `rg.quantized_linear`.

    >>> layer = rg.nn.QuantizedLinear.of(rg.nn.Linear(64, 3), "int8")
    >>> layer(rg.ones(5, 64)).shape, layer.blocks.shape
    ((5, 3), (3, 68))
    """

    def __init__(self, blocks, format, bias=None, activations=None):
        super().__init__()
        check_activations(activations, format)
        self.format, self.activations = format, activations
        self.blocks = Buffer(blocks)
        self.bias = bias if bias is None or isinstance(bias, Parameter) else Parameter(bias)
        self.out_features, self.in_features = dequantize_shape(self.blocks, format)

    @classmethod
    def of(cls, layer, format="int8", activations=None):
        """A layer with the weights of a Linear, quantised, and with its bias."""
        name = format_name(format)
        check_activations(activations, name)
        return cls(asarray(packed(layer.weight.detach().numpy(), name)), name, layer.bias, activations)

    def forward(self, input):
        found = quantized_linear(input, self.blocks, self.format, activations=self.activations)
        return found if self.bias is None else found + self.bias

    def extra_repr(self):
        kind = "" if self.activations is None else f", activations={self.activations}"
        return (f"in_features={self.in_features}, out_features={self.out_features}, format={self.format}, "
                f"bias={self.bias is not None}{kind}")


class QuantizedEmbedding(Module):
    """Rows of a table of quantised numbers, chosen by integers; `blocks` is (num_embeddings, bytes).

    >>> table = rg.nn.QuantizedEmbedding.of(rg.nn.Embedding(10, 32), "int8")
    >>> table(rg.tensor([1, 2])).shape
    (2, 32)
    """

    def __init__(self, blocks, format):
        super().__init__()
        self.format = format
        self.blocks = Buffer(blocks)
        self.num_embeddings, self.embedding_dim = dequantize_shape(self.blocks, format)

    @classmethod
    def of(cls, layer, format="int8"):
        """A table with the numbers of an Embedding, quantised."""
        name = format_name(format)
        return cls(asarray(packed(layer.weight.detach().numpy(), name)), name)

    def forward(self, input):
        return dequantize(take(self.blocks, input, 0), self.format)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}, format={self.format}"


def quantize(model, format="int8", skip=(), activations=None):
    """Replace each Linear of `model` by a QuantizedLinear with the same weights in a format; returns `model`.

    `format` is "int8", "q4", "q5", or one of GGUF's names: "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "F16", "BF16". Layers whose
    name is `skip`, or in it, those whose rows are no whole blocks, and subclasses of Linear with a `forward` of their own stay as
    they are; at least one must be left. A name that no layer has is an ArgumentError. A Linear that is `model` itself is returned
    as another layer. Layers keep their hooks. With `activations="int8"` what the layers are given is rounded to 8 bits too: see
    `rg.quantized_linear`.

    >>> model = rg.quantize(rg.nn.Sequential(rg.nn.Linear(64, 32), rg.nn.ReLU(), rg.nn.Linear(32, 2)), "q4")
    >>> model[0]
    QuantizedLinear(in_features=64, out_features=32, format=Q4_1, bias=True)
    """
    name = format_name(format)
    check_activations(activations, name)
    if _is_affine(model):
        return _replacing(model, name, activations)
    if not isinstance(model, Module):
        inner = "; give its network" if isinstance(getattr(model, "network", None), Module) else ""
        raise ArgumentError(f"quantize takes a module, got {type(model).__name__}{inner}")
    skip, layers = (skip,) if isinstance(skip, str) else tuple(skip), dict(model.named_modules(remove_duplicate=False))
    if unknown := [path for path in skip if path not in layers]:
        linear = [path for path, layer in layers.items() if _is_affine(layer)]
        raise ArgumentError(f"skip names layers of the model, and {unknown[0]!r} is none; those that can be quantised are "
                            f"{', '.join(linear[:5])}{', ...' * (len(linear) > 5)}")
    found = [(path, layer) for path, layer in layers.items()
             if _is_affine(layer) and path not in skip and layer.in_features % FORMATS[name].size == 0]
    if not found:
        raise ShapeError(f"quantize found no Linear with rows of a multiple of {FORMATS[name].size}, as {name} needs, and without "
                         "a forward of its own")
    # A layer that stands in several places is one layer afterwards too.
    made = {}
    for path, layer in found:
        if id(layer) not in made:
            made[id(layer)] = _replacing(layer, name, activations)
        model.set_submodule(path, made[id(layer)])
    return model


def _is_affine(layer):
    """Whether a layer is a Linear that computes what a QuantizedLinear computes, as the class says that has its `forward`."""
    if not isinstance(layer, Linear) or "forward" in vars(layer):
        return False
    return vars(next(kind for kind in type(layer).__mro__ if "forward" in vars(kind))).get("is_affine", False)


def _replacing(layer, name, activations):
    """A QuantizedLinear that stands for `layer`, with its hooks, of which others hold handles, and its mode."""
    made = QuantizedLinear.of(layer, name, activations)
    vars(made).update({key: vars(layer)[key] for key in ("_hooks", "training") if key in vars(layer)})
    return made


def set_activations(model, activations):
    """Have the layers of `model` whose weights are quantised integers take activations as "int8", or None for floats as they are.

    Layers with weights of 16 bits take floats in any case. There must be one of integers for "int8".
    """
    found = [layer for layer in model.modules() if isinstance(layer, QuantizedLinear) and FORMATS[layer.format].size > 1]
    if activations is not None and not found:
        raise ArgumentError(f"activations={activations!r} are for layers with quantised weights, of which this model has none")
    for layer in found:
        check_activations(activations, layer.format)
        layer.activations = activations


def format_name(format):
    """The name of a format by its name or its short name."""
    name = NAMES.get(format, format)
    if name not in FORMATS:
        raise ArgumentError(f"a format is one of {', '.join([*NAMES, *FORMATS])}, got {format!r}")
    return name


def dequantize_shape(blocks, format):
    """(rows, numbers in each) of blocks."""
    if blocks.ndim != 2:
        raise ShapeError(f"blocks of a layer are (outputs, bytes), got {blocks.shape}")
    return blocks.shape[0], FORMATS[format_name(format)].row_weights(blocks.shape[1])

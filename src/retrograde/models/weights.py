"""Weights, where the layers of a model get theirs: from the tensors of files, or drawn at random."""

import re
from math import prod

import numpy as np

from ..core.mode import is_recording
from ..dtypes import as_dtype
from ..errors import CheckpointError, DTypeError
from ..nn.embedding import Embedding
from ..nn.linear import Linear
from ..nn.module import Module
from ..nn.normalization import LayerNorm
from ..nn.parameter import Parameter
from ..nn.quantized import QuantizedEmbedding, QuantizedLinear
from ..ops.elementary.arithmetic import rsqrt
from ..ops.networks._quantizing import HALVES, PLAIN, unpacked
from ..ops.networks.quantized import FEW_ROWS, quantized_linear
from ..tensor.tensor import Tensor
from .checks import check_seed

#: Tensors that files may have and models need not: what is computed anew, and a head that is the table of embeddings.
_NEEDLESS = re.compile(r"(^|\.)(rotary_emb\.inv_freq|attn\.(masked_)?bias|position_ids)$|rope_freqs\.weight$")
#: What weights may be.
FLOATS = ("float64", "float32", *HALVES)


class StoredWeights:
    """Layers with the tensors of files: `stored` has each as `io.mapped.Stored` by name.

    rename  what a tensor is called in the file, of its name in a model
    dtype   of all weights, which are then copied; None leaves them as they are in the file: mapped, and those of 16 bits or
            less as quantised layers, which are not learned
    turned  a pattern of the names of matrices that are (inputs, outputs) in the file; they are copied, and are floats
    """

    def __init__(self, path, stored, rename=lambda name: name, dtype=None, turned=None):
        self.path, self.stored, self.rename, self.dtype, self.used = path, stored, rename, dtype, set()
        self.turned = turned

    def has(self, name):
        """Whether there is a tensor of this name."""
        return self.rename(name) in self.stored

    def take(self, name, shape=None):
        """The tensor of a name, whose shape is checked."""
        known = self.rename(name)
        if known not in self.stored:
            raise CheckpointError(f"{self.path} lacks the tensor {known}")
        self.used.add(known)
        found = self.stored[known]
        if found.format is None and found.array.dtype.name not in FLOATS:
            raise CheckpointError(f"{self.path}: {known} is of {found.array.dtype.name}, and weights are of {', '.join(FLOATS)}, "
                                  "or quantised in a GGUF file")
        if shape is not None and tuple(found.shape) != tuple(shape):
            raise CheckpointError(f"{self.path}: {known} has shape {tuple(found.shape)}, and the model needs {tuple(shape)}")
        return found

    def array(self, name, shape):
        """The numbers of a tensor, at least float32."""
        found = self.take(name, shape)
        array = found.array if found.format is None else unpacked(found.array, found.format)
        dtype = self.dtype or ("float32" if array.dtype.name in HALVES else array.dtype)
        return array.astype(dtype, copy=False)

    def matrix(self, name, shape):
        """(numbers, None) of a matrix of floats, or (blocks, format) of a quantised one."""
        if self.turned is not None and self.turned.search(name):
            return np.ascontiguousarray(self.array(name, shape[::-1]).T), None
        found = self.take(name, shape)
        if self.dtype is not None:
            return self.array(name, shape), None
        if (half := HALVES.get(found.array.dtype.name)) is not None:
            return found.array.view(np.uint8), half
        return found.array, found.format

    def check_used(self):
        """Raise a CheckpointError if the files have a tensor that the model has no place for."""
        left = sorted([name for name in self.stored if name not in self.used and not _NEEDLESS.search(name)])
        if left:
            more = f" and {len(left) - 3} more" if len(left) > 3 else ""
            raise CheckpointError(f"{self.path} has tensors that a model of its kind has not: {', '.join(left[:3])}{more}")


class RandomWeights:
    """Layers with weights drawn from a normal distribution of standard deviation `scale`; the same ones for the same seed."""

    def __init__(self, seed=0, scale=0.02):
        check_seed(seed)
        self.rng, self.scale = np.random.default_rng(seed), scale

    def has(self, name):
        """Whether there is a tensor of this name: what a model may have it has not."""
        return False

    def array(self, name, shape):
        """Ones for norms, zeros for biases, and random numbers for all else."""
        if name.endswith("bias"):
            return np.zeros(shape, np.float32)
        if len(shape) == 1:
            return np.ones(shape, np.float32)
        return self.rng.standard_normal(shape, np.float32) * np.float32(self.scale)

    def matrix(self, name, shape):
        """(numbers, None) of a matrix."""
        return self.array(name, shape), None

    def check_used(self):
        """All are used."""


class RowLinear(Linear):
    """A Linear that multiplies a few rows, when nothing is learned, so that each does not depend on the others to the last bit."""

    is_affine = True

    def forward(self, x):
        if is_recording() or x.dtype != np.float32 or self.weight.dtype != np.float32 or prod(x.shape[:-1]) > FEW_ROWS:
            return super().forward(x)
        found = quantized_linear(x, self.weight, PLAIN)
        return found if self.bias is None else found + self.bias


class RowNorm(LayerNorm):
    """A LayerNorm whose rows, when nothing is learned, do not depend on the others to the last bit."""

    def forward(self, x):
        if is_recording() or x.dtype != np.float32:
            return super().forward(x)
        centred = x - row_mean(x)
        return centred * rsqrt(row_mean(centred * centred) + np.float32(self.eps)) * self.weight + self.bias


def row_mean(x):
    """The mean of each row of `x`, (..., 1), summed up in one order, whatever rows are beside it."""
    size = x.shape[-1]
    return quantized_linear(x, Tensor(np.full((1, size), 1 / size, np.float32)), PLAIN)


def linear(weights, name, inputs, outputs, bias=False):
    """The layer called `name`, of floats or quantised."""
    found, form = weights.matrix(f"{name}.weight", (outputs, inputs))
    addend = Parameter(weights.array(f"{name}.bias", (outputs,))) if bias else None
    if form is not None:
        return QuantizedLinear(found, form, addend)
    layer = _bare(RowLinear, in_features=inputs, out_features=outputs)
    layer.weight, layer.bias = Parameter(found), addend
    return layer


def embedding(weights, name, count, size):
    """The table called `name`."""
    found, form = weights.matrix(f"{name}.weight", (count, size))
    if form is not None:
        return QuantizedEmbedding(found, form)
    return Embedding(count, size, _weight=found)


def head_of(table):
    """The layer that multiplies by the rows of a table of embeddings, whose memory it shares."""
    if isinstance(table, QuantizedEmbedding):
        return QuantizedLinear(table.blocks, table.format)
    layer = _bare(RowLinear, in_features=table.embedding_dim, out_features=table.num_embeddings)
    layer.weight, layer.bias = table.weight, None
    return layer


def layer_norm(weights, name, size, eps):
    """The norm called `name`, with a mean that is taken away and a bias."""
    layer = RowNorm(size, eps)
    layer.weight = Parameter(weights.array(f"{name}.weight", (size,)))
    layer.bias = Parameter(weights.array(f"{name}.bias", (size,)))
    return layer


def weights_dtype(dtype):
    """The dtype of weights that `dtype` names; a DTypeError if they cannot have it."""
    try:
        found = as_dtype(dtype)
    except DTypeError:
        found = None
    if found is None or found.name not in FLOATS:
        raise DTypeError(f"weights are loaded as {', '.join(FLOATS)}, or as they are in the file without a dtype, got "
                         f"{dtype!r:.80}")
    return found


def _bare(kind, **attributes):
    """A layer without weights: to draw some, only to drop them, takes time and memory."""
    layer = kind.__new__(kind)
    Module.__init__(layer)
    for name, value in attributes.items():
        setattr(layer, name, value)
    return layer

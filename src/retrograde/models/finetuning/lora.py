"""LoRA: layers whose weights are frozen, and beside each a product of two small matrices that is learned.

Hu et al., "LoRA: Low-rank adaptation of large language models" (2021); with a quantised base, Dettmers et al., "QLoRA: Efficient
finetuning of quantized LLMs" (2023).
"""

import copy
import math
from math import prod
from typing import Any

import numpy as np

from ...core.mode import is_recording, no_grad
from ...errors import ArgumentError
from ...nn import functional, init
from ...nn.container import ModuleDict
from ...nn.embedding import Embedding
from ...nn.linear import Linear
from ...nn.module import Module
from ...nn.parameter import Parameter
from ...nn.quantized import QuantizedEmbedding, QuantizedLinear, quantize
from ...ops.linalg.contractions import matmul
from ...ops.manipulation.movements import pad
from ...ops.networks._quantizing import FORMATS, PLAIN
from ...ops.networks.quantized import FEW_ROWS, quantized_linear
from ...tensor.creation import zeros
from ..checks import check_options, check_writes
from ..weights import head_of
from .settings import ALL_LINEAR, Settings

#: Rows of so many numbers are read at a time where texts are written.
_AT_ONCE = 16


class Adapter(Module):
    """`x @ lora_A.T @ lora_B.T * scale`: lora_A is (rank, inputs), lora_B (outputs, rank) and starts as zeros."""

    def __init__(self, inputs, outputs, rank, scale, dropout):
        super().__init__()
        self.lora_A, self.lora_B = Parameter(zeros(rank, inputs)), Parameter(zeros(outputs, rank))
        init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scale, self.dropout = scale, dropout

    def forward(self, x):
        if not is_recording() and prod(x.shape[:-1]) <= FEW_ROWS and x.dtype == np.float32:
            return self._of_few_rows(x)
        # What is read to write on has none, in training either: texts depend on nothing but prompt, options and seed.
        if self.dropout and is_recording():
            x = functional.dropout(x, self.dropout, self.training)
        # The factor goes to the matrix with fewer numbers than there are results.
        return functional.linear(functional.linear(x, self.lora_A), self.lora_B * np.float32(self.scale))

    def _of_few_rows(self, x):
        """As texts are written: each row is summed up in one order, whatever rows are beside it."""
        missing = -self.lora_A.shape[0] % _AT_ONCE
        first, second = pad(self.lora_A, ((0, missing), (0, 0))), pad(self.lora_B, ((0, 0), (0, missing)))
        return quantized_linear(quantized_linear(x, first, PLAIN), second, PLAIN) * np.float32(self.scale)

    def product(self):
        """What is added to the weights of the layer, (outputs, inputs)."""
        return matmul(self.lora_B, self.lora_A) * np.float32(self.scale)


class LoRALinear(Module):
    """A layer that is not learned and an adapter beside it, whose results are added."""

    def __init__(self, base, adapter):
        super().__init__()
        self.base, self.adapter = base, adapter

    @property
    def in_features(self):
        """Numbers in a row that comes in."""
        return self.base.in_features

    @property
    def out_features(self):
        """Numbers in a row that goes out."""
        return self.base.out_features

    def forward(self, x):
        return self.base(x) + self.adapter(x)


class LoRA(Module):
    """The adapters of a language model, whose own weights are frozen; its parameters are those of the adapters alone.

    `model` is a Model or its network, in which each adapted layer is replaced by a `LoRALinear`. Called with tokens, it is the
    network. The layers may be quantised. The `settings` are

    rank=8                     numbers between the two matrices of an adapter
    alpha=16.0                 their product is multiplied by `alpha` / `rank`
    dropout=0.0                the chance of each input of an adapter to be dropped, in training where gradients are recorded
    targets="all-linear"       which layers have one: all but the head; or the last parts of their names, such as
                               ("q_proj", "v_proj"); or a regular expression that matches whole names
    is_rank_stabilised=False   whether `alpha` is divided by the root of the rank in its place
    ranks={}, alphas={}        other ranks and alphas, by regular expressions that match the last parts of names

    >>> from retrograde.models import Config, Decoder, RandomWeights
    >>> sizes = dict(vocab_size=32, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4)
    >>> config = Config("llama", **sizes, num_key_value_heads=2, head_dim=8, max_position_embeddings=64)
    >>> lora = rg.models.LoRA(Decoder(config, RandomWeights()), rank=4, targets=("q_proj", "v_proj"))
    >>> len(lora.adapters), sum(p.size for p in lora.parameters())
    (4, 896)
    """

    def __init__(self, model, **settings):
        super().__init__()
        network: Any = getattr(model, "network", model)
        if not isinstance(network, Module):
            raise ArgumentError(f"adapters are for a Model or a module, got {type(model).__name__}")
        check_options("LoRA", settings, Settings.__dataclass_fields__)
        self.settings = Settings(**settings)
        found = targets_of(network, self.settings)
        # Not an attribute that lists a submodule: what is saved and learned is the adapters.
        self._network = (network.eval().requires_grad_(False),)
        self.adapters, self._bases, self.is_merged, self.is_removed = ModuleDict(), {}, False, False
        for path, layer in found.items():
            adapter = Adapter(layer.in_features, layer.out_features, *self.settings.of(path), self.settings.dropout)
            self.adapters[_key(path)], self._bases[path] = adapter, layer
            network.set_submodule(path, LoRALinear(layer, adapter))

    @property
    def network(self):
        """The network with its adapters."""
        return self._network[0]

    def forward(self, tokens):
        """Logits (batch, length, vocabulary) of `tokens` (batch, length)."""
        return self.network(tokens)

    def named(self):
        """(path of its layer in the network, adapter) of each."""
        return [(path, self.adapters[_key(path)]) for path in self._bases]

    def merge(self):
        """Add the adapters to the weights, which makes writing as fast as without; for layers of floats only.

        They are added to copies: `unmerge` gives back the weights as they were, to the last bit.
        """
        self._check_merged(False)
        quantised = next((path for path, base in self._bases.items() if isinstance(base, QuantizedLinear)), None)
        if quantised is not None:
            raise ArgumentError(f"{quantised} has weights of format {self._bases[quantised].format}, and to add an adapter would "
                                   'round it; load the model with dtype="float32" to merge')
        with no_grad():
            for path, adapter in self.named():
                base = self._bases[path]
                merged = copy.copy(base)
                weight = base.weight + adapter.product().astype(base.weight.dtype)
                merged.weight = Parameter(weight.detach(), requires_grad=False)
                self.network.set_submodule(path, merged)
        self.is_merged = True

    def unmerge(self):
        """Take the adapters out of the weights, and put them beside these again."""
        self._check_merged(True)
        for path, adapter in self.named():
            self.network.set_submodule(path, LoRALinear(self._bases[path], adapter))
        self.is_merged = False

    def remove(self):
        """Give the network its own layers back, without the adapters."""
        if not self.is_removed:  # else others may be there by now
            for path, base in self._bases.items():
                self.network.set_submodule(path, base)
        self.is_merged, self.is_removed = False, True

    def _check_merged(self, wanted):
        if self.is_removed:
            raise ArgumentError("these adapters were taken out of the network by remove(); make others with LoRA, or load them by "
                                "load_adapter")
        if self.is_merged is not wanted:
            raise ArgumentError(f"these adapters are {'not ' * wanted}merged{'' if wanted else ' already'}")


def QLoRA(model, format="q4", **settings):  # noqa: A002, N802 - as rg.quantize and the method call them
    """`LoRA` of a model whose weights are first quantised by `quantise_frozen`. A GGUF file that is loaded as it is needs nothing
    but `LoRA`.
    """
    quantise_frozen(model, format)
    return LoRA(model, **settings)


def quantise_frozen(model, format="q4"):  # noqa: A002
    """Quantise the layers of a Model, or of its network, in a `format` of `rg.quantize`, and its table of embeddings and its head
    in 8.5 bits a number, as far as they are of floats. Returns the model.
    """
    network = getattr(model, "network", model)
    check_writes(network, "quantise_frozen")
    table, layers, head = network.get_submodule(network.table_path), network.get_submodule(network.layers_path), network.lm_head
    if any([isinstance(layer, Linear) for layer in layers.modules()]):
        quantize(layers, format)
    is_tied = isinstance(table, Embedding) and getattr(head, "weight", None) is table.weight
    if isinstance(table, Embedding) and table.embedding_dim % FORMATS["Q8_0"].size == 0:
        network.set_submodule(network.table_path, QuantizedEmbedding.of(table))
    if is_tied:
        network.lm_head = head_of(network.get_submodule(network.table_path))
    elif isinstance(head, Linear) and head.in_features % FORMATS["Q8_0"].size == 0:
        network.lm_head = QuantizedLinear.of(head)
    return model


def targets_of(network, settings):
    """The layers that are adapted, by their paths."""
    kinds = Linear, QuantizedLinear
    layers = {path: layer for path, layer in network.named_modules() if isinstance(layer, kinds)}
    if any([isinstance(layer, LoRALinear) for layer in network.modules()]):
        raise ArgumentError("this network has adapters already; remove() them first, or merge them and save the network")
    if settings.targets != ALL_LINEAR:
        others = [path for path, module in network.named_modules() if path and settings.matches(path) and path not in layers]
        if others:
            raise ArgumentError(f"adapters are for linear layers, and the targets name {others[0]}")
        if "lm_head" in layers and settings.matches("lm_head"):
            raise ArgumentError("the head cannot have an adapter: its loss is computed by chunks of the vocabulary")
    found = {path: layer for path, layer in layers.items() if path != "lm_head" and settings.matches(path)}
    if not found:
        names = sorted({path.rpartition(".")[2] for path in layers} - {"lm_head"})
        raise ArgumentError(f"no layer is called {settings.targets!r}; there are {', '.join(names)}")
    return found


def _key(path):
    """A path as the name of one module."""
    return path.replace(".", "/")

"""The cases on which layers are compared with PyTorch's, and how one is run: the same for both libraries."""

import json
import zlib
from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde import nn

#: What PyTorch gives for each case; written by tests/oracle/record_layers.py.
RECORDED = Path(__file__).parent / "nn" / "layers.npz"
#: How far a number of float32 may lie from PyTorch's, as a part of one plus the greatest of them.
TOLERANCE = 1e-5


class Case:
    """A layer (or, if the name is in lower case, a function of nn.functional), what it is made with, and its inputs.

    An input is the shape of floats, ("integers", shape, limit), ("chances", shape), or an array as it is. `options` are
    keywords of the call, `phase` is "train" or "eval", `steps` is how often the layer is called before it is compared.
    """

    def __init__(self, name, *args, inputs=((2, 3),), phase="train", steps=1, options=None, **kwargs):
        self.name, self.args, self.kwargs, self.inputs = name, args, kwargs, inputs
        self.phase, self.steps, self.options = phase, steps, options or {}

    def __repr__(self):
        words = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.kwargs.items())]
        rest = [repr(i) for i in self.inputs if isinstance(i, np.ndarray)]
        shapes = "".join(str(i) for i in self.inputs if isinstance(i, tuple))
        options = ", ".join(f"{k}={np.shape(v) if isinstance(v, np.ndarray) else v}" for k, v in self.options.items())
        return " ".join(filter(None, [f"{self.name}({', '.join(words)})", shapes, *rest, options, self.phase if self.phase != "train" else ""])).replace("\n", "")

    uses = 1

    @property
    def is_layer(self):
        """Whether this is about a class."""
        return self.name[0].isupper()

    @property
    def differentiable(self):
        """For each input whether it is of floats that were drawn."""
        return [not isinstance(x, np.ndarray) and x[:1] != ("integers",) for x in self.inputs]

    def drawn(self, step):
        """The inputs of one step as arrays."""
        rng = np.random.default_rng([zlib.crc32(repr(self).encode()), step])
        return [_drawn(rng, given) for given in self.inputs]

    def weights(self, shapes):
        """Numbers for parameters and buffers, by name, from their shapes."""
        return {name: _weight(name, shape) for name, shape in shapes.items()}

    def cotangent(self, number, shape):
        """The cotangent of a result."""
        rng = np.random.default_rng([3, number])
        return rng.uniform(0.5, 1.5, shape).astype(np.float32) * rng.choice(np.float32([-1, 1]), shape)


def _drawn(rng, given):
    if isinstance(given, np.ndarray):
        return given
    if given[:1] == ("integers",):
        return rng.integers(0, given[2], given[1])
    if given[:1] == ("chances",):
        return rng.uniform(0, 1, given[1]).astype(np.float32)
    return rng.standard_normal(given).astype(np.float32)


def _weight(name, shape):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if name.endswith("num_batches_tracked"):
        return np.array(0)
    numbers = rng.standard_normal(shape).astype(np.float32)
    return np.abs(numbers) + np.float32(0.5) if name.endswith("running_var") else numbers / np.float32(max(1, np.prod(shape[1:])) ** 0.5)


CAUSAL = np.triu(np.ones((5, 5), bool), 1)
PADDED = np.array([[False, False, False, False, True], [False, False, False, True, True]])
SOME = np.array([[True, False, True, True], [True, True, False, True], [False, False, True, True]])
FLOATS = np.float32([[0.1, -0.5, 0.3, 0.0], [1.0, 0.5, -0.3, -1.0], [0.0, -np.inf, 0.3, 0.1]])
SIGNS = np.float32([[1, -1, 1, -1], [-1, -1, 1, 1], [1, 1, -1, 1]])
#: Places in a row of 8, each once.
PLACES = np.array([[1, 2, 4, 7], [6, 0, 5, 3]])
VECTORS, SOURCE = ((5, 2, 8),), ((2, 5, 8),)


class Self(Case):
    """Attention of the only input to itself."""

    uses = 3


LAYERS = [
    Case("Conv1d", 3, 4, 3, inputs=((2, 3, 9),)), Case("Conv1d", 4, 6, 3, stride=2, padding=2, dilation=2, groups=2, inputs=((2, 4, 9),)),
    Case("Conv1d", 2, 3, 4, padding="same", padding_mode="reflect", inputs=((2, 2, 9),)), Case("Conv1d", 2, 3, 3, inputs=((2, 9),)),
    Case("Conv2d", 3, 4, 3, padding=1, inputs=((2, 3, 6, 5),)), Case("Conv2d", 4, 4, 3, groups=4, bias=False, inputs=((2, 4, 6, 5),)),
    Case("Conv2d", 2, 4, (3, 2), stride=(2, 1), dilation=(1, 2), padding=(1, 0), inputs=((2, 2, 7, 6),)),
    Case("Conv2d", 2, 4, 3, padding="same", dilation=2, inputs=((2, 2, 6, 6),)), Case("Conv2d", 2, 4, 3, padding="valid", inputs=((2, 6, 6),)),
    Case("Conv2d", 2, 3, 3, padding=1, padding_mode="circular", inputs=((2, 2, 5, 4),)),
    Case("Conv2d", 2, 3, (2, 3), padding=(1, 2), stride=2, padding_mode="replicate", inputs=((2, 2, 5, 4),)),
    Case("Conv2d", 3, 8, 1, inputs=((2, 3, 5, 4),)),
    Case("Conv3d", 2, 3, 2, inputs=((1, 2, 3, 4, 3),)), Case("Conv3d", 2, 2, (1, 2, 3), stride=(1, 2, 1), padding=1, groups=2, inputs=((1, 2, 3, 4, 3),)),
    Case("ConvTranspose1d", 3, 4, 3, stride=2, padding=1, output_padding=1, inputs=((2, 3, 5),)),
    Case("ConvTranspose1d", 4, 4, 2, groups=2, dilation=2, inputs=((2, 4, 5),)),
    Case("ConvTranspose2d", 3, 4, 3, stride=2, padding=1, inputs=((2, 3, 4, 3),)),
    Case("ConvTranspose2d", 4, 6, (2, 3), stride=(1, 2), output_padding=(0, 1), groups=2, bias=False, inputs=((2, 4, 4, 3),)),
    Case("ConvTranspose2d", 2, 3, 3, stride=2, inputs=((2, 2, 4, 3),), options={"output_size": (10, 7)}),
    Case("ConvTranspose3d", 2, 2, 2, stride=2, inputs=((1, 2, 2, 3, 2),)),
    Case("MaxPool1d", 2, inputs=((2, 3, 8),)), Case("MaxPool1d", 3, stride=2, padding=1, ceil_mode=True, inputs=((2, 3, 8),)),
    Case("MaxPool2d", 2, inputs=((2, 3, 6, 6),)), Case("MaxPool2d", 3, stride=2, padding=1, inputs=((2, 3, 7, 6),)),
    Case("MaxPool2d", (2, 3), dilation=2, stride=1, inputs=((2, 3, 7, 6),)), Case("MaxPool3d", 2, inputs=((1, 2, 4, 4, 5),)),
    Case("MaxPool1d", 3, 2, 1, return_indices=True, inputs=((2, 3, 8),)),
    Case("MaxPool2d", (3, 2), 2, 1, (1, 2), return_indices=True, ceil_mode=True, inputs=((2, 3, 7, 6),)),
    Case("MaxPool2d", 2, return_indices=True, inputs=(np.float32([[[1, 1, 2], [1, 1, 2], [np.nan, 0, 2]]]),)),
    Case("MaxPool3d", 2, 1, 1, return_indices=True, inputs=((1, 2, 4, 3, 5),)),
    Case("MaxUnpool1d", 2, inputs=((2, 4), PLACES)), Case("MaxUnpool1d", 3, 2, 1, inputs=((1, 2, 4), PLACES[None]), options={"output_size": (1, 2, 8)}),
    Case("MaxUnpool2d", 2, inputs=((2, 2, 2), PLACES.reshape(2, 2, 2))),
    Case("MaxUnpool3d", 2, inputs=((1, 2, 2, 1, 2), PLACES.reshape(1, 2, 2, 1, 2))),
    Case("AvgPool1d", 2, inputs=((2, 3, 8),)), Case("AvgPool1d", 3, 2, 1, count_include_pad=False, inputs=((2, 3, 8),)),
    Case("AvgPool2d", 2, inputs=((2, 3, 6, 6),)), Case("AvgPool2d", 3, 2, padding=1, ceil_mode=True, inputs=((2, 3, 7, 6),)),
    Case("AvgPool2d", 2, divisor_override=3, inputs=((2, 3, 6, 6),)), Case("AvgPool3d", 2, inputs=((1, 2, 4, 4, 5),)),
    Case("AvgPool3d", (2, 3, 2), 1, 1, True, divisor_override=5, inputs=((1, 2, 4, 3, 5),)),
    Case("LPPool3d", 2, (2, 1, 2), inputs=(("chances", (1, 2, 4, 3, 4)),)),
    Case("LPPool1d", 2, 3, 2, inputs=(("chances", (2, 3, 8)),)), Case("LPPool1d", 3, 2, ceil_mode=True, inputs=(("chances", (3, 7)),)),
    Case("LPPool2d", 2, 2, inputs=(("chances", (2, 3, 6, 6)),)),
    Case("AdaptiveAvgPool1d", 3, inputs=((2, 3, 8),)), Case("AdaptiveAvgPool2d", 1, inputs=((2, 3, 6, 5),)),
    Case("AdaptiveAvgPool2d", (3, 2), inputs=((2, 3, 7, 5),)), Case("AdaptiveAvgPool2d", (None, 2), inputs=((2, 3, 4, 4),)),
    Case("AdaptiveAvgPool3d", 2, inputs=((1, 2, 4, 3, 5),)),
    Case("AdaptiveMaxPool1d", 3, return_indices=True, inputs=((2, 3, 8),)), Case("AdaptiveMaxPool2d", (3, None), True, inputs=((2, 3, 7, 5),)),
    Case("AdaptiveMaxPool3d", 2, return_indices=True, inputs=((2, 3, 5, 4),)),
    Case("AdaptiveMaxPool1d", 3, inputs=((2, 3, 8),)), Case("AdaptiveMaxPool2d", (3, 2), inputs=((2, 3, 7, 5),)),
    *[Case(name, 3, phase=phase, steps=2, inputs=(shape,), **options)
      for name, shape in (("BatchNorm1d", (4, 3)), ("BatchNorm1d", (4, 3, 5)), ("BatchNorm2d", (4, 3, 5, 2)), ("BatchNorm3d", (2, 3, 2, 2, 2)))
      for phase in ("train", "eval") for options in ({},)],
    *[Case("BatchNorm2d", 3, phase=phase, steps=2, inputs=((4, 3, 5, 2),), **options) for phase in ("train", "eval")
      for options in ({"momentum": None}, {"affine": False, "eps": 0.01}, {"track_running_stats": False, "momentum": 0.3})],
    Case("InstanceNorm1d", 3, inputs=((4, 3, 5),)), Case("InstanceNorm1d", 3, affine=True, inputs=((3, 5),)),
    Case("InstanceNorm2d", 3, affine=True, track_running_stats=True, steps=2, inputs=((2, 3, 4, 5),)),
    Case("InstanceNorm2d", 3, affine=True, track_running_stats=True, phase="eval", inputs=((2, 3, 4, 5),)),
    Case("InstanceNorm3d", 2, inputs=((2, 2, 2, 3, 2),)),
    Case("LayerNorm", 8, inputs=((2, 3, 8),)), Case("LayerNorm", (3, 8), eps=0.01, inputs=((2, 3, 8),)),
    Case("LayerNorm", 8, bias=False, inputs=((8,),)), Case("LayerNorm", [8], elementwise_affine=False, inputs=((4, 8),)),
    Case("RMSNorm", 8, inputs=((2, 3, 8),)), Case("RMSNorm", (3, 8), eps=0.01, elementwise_affine=False, inputs=((2, 3, 8),)),
    Case("LocalResponseNorm", 3, inputs=((2, 5, 4),)), Case("LocalResponseNorm", 2, alpha=0.5, beta=0.5, k=2.0, inputs=((2, 3, 3, 2),)),
    Case("LocalResponseNorm", 4, alpha=1.0, inputs=((1, 6, 2, 2, 2),)), Case("RReLU", phase="eval"),
    Case("GroupNorm", 2, 6, inputs=((2, 6, 4),)), Case("GroupNorm", 3, 6, affine=False, inputs=((2, 6, 3, 4),)), Case("GroupNorm", 1, 6, inputs=((3, 6),)),
    Case("Embedding", 7, 4, inputs=(("integers", (2, 5), 7),)), Case("Embedding", 7, 4, padding_idx=-6, inputs=(("integers", (20,), 7),)),
    Case("EmbeddingBag", 7, 4, inputs=(("integers", (2, 5), 7),)), Case("EmbeddingBag", 7, 4, mode="sum", padding_idx=2, inputs=(("integers", (3, 5), 7),)),
    Case("EmbeddingBag", 9, 4, mode="max", inputs=(np.array([[1, 4, 2], [5, 0, 8]]),)),
    Case("Embedding", 7, 4, max_norm=0.9, norm_type=1.0, inputs=(np.array([[2, 0], [2, 5]]),)),
    Case("Embedding", 7, 4, padding_idx=3, scale_grad_by_freq=True, inputs=(np.array([[2, 0, 3], [2, 5, 2]]),)),
    *[Case("EmbeddingBag", 9, 4, inputs=(np.array([1, 4, 2, 5, 0, 8]), np.array([0, 2, 2, 5])), **options)
      for options in ({}, {"mode": "sum", "padding_idx": 2}, {"padding_idx": 5}, {"mode": "max"}, {"max_norm": 0.8, "scale_grad_by_freq": True})],
    Case("EmbeddingBag", 9, 4, mode="sum", include_last_offset=True, inputs=(np.array([1, 4, 1, 5]), np.array([0, 3, 4]), (4,))),
    Case("EmbeddingBag", 7, 4, padding_idx=1, inputs=(("integers", (4, 6), 7),)),
    Self("MultiheadAttention", 8, 2, inputs=VECTORS), Self("MultiheadAttention", 8, 2, batch_first=True, inputs=SOURCE, options={"attn_mask": CAUSAL}),
    Self("MultiheadAttention", 8, 4, inputs=VECTORS, options={"need_weights": False, "attn_mask": CAUSAL, "is_causal": True}),
    Self("MultiheadAttention", 8, 2, batch_first=True, inputs=SOURCE, options={"key_padding_mask": PADDED, "average_attn_weights": False}),
    Self("MultiheadAttention", 8, 2, batch_first=True, bias=False, inputs=SOURCE,
         options={"key_padding_mask": PADDED, "attn_mask": CAUSAL, "need_weights": False}),
    Case("MultiheadAttention", 8, 2, kdim=6, vdim=4, inputs=((3, 2, 8), (4, 2, 6), (4, 2, 4)), options={"attn_mask": FLOATS}),
    Case("MultiheadAttention", 8, 2, inputs=((3, 8), (4, 8), (4, 8)), options={"attn_mask": ~SOME}),
    Case("MultiheadAttention", 8, 2, add_bias_kv=True, add_zero_attn=True, inputs=((3, 2, 8), (4, 2, 8), (4, 2, 8)), options={"attn_mask": ~SOME}),
    Case("MultiheadAttention", 8, 2, inputs=((3, 2, 8), (4, 2, 8), (4, 2, 8)),
         options={"attn_mask": np.stack([~SOME] * 4), "need_weights": False}),
    Case("TransformerEncoderLayer", 8, 2, 16, 0.0, inputs=((5, 2, 8),)),
    Case("TransformerEncoderLayer", 8, 2, 16, 0.0, "gelu", batch_first=True, norm_first=True, inputs=((2, 5, 8),),
         options={"src_mask": CAUSAL, "is_causal": True}),
    Case("TransformerEncoderLayer", 8, 2, 16, 0.3, batch_first=True, bias=False, phase="eval", inputs=((2, 5, 8),),
         options={"src_key_padding_mask": PADDED}),
    Case("TransformerDecoderLayer", 8, 2, 16, 0.0, batch_first=True, inputs=((2, 5, 8), (2, 3, 8)), options={"tgt_mask": CAUSAL}),
    Case("Transformer", 8, 2, 1, 2, 16, 0.0, batch_first=True, inputs=((2, 5, 8), (2, 4, 8)),
         options={"tgt_mask": CAUSAL[:4, :4], "src_key_padding_mask": PADDED}),
    Case("AdaptiveLogSoftmaxWithLoss", 8, 20, [4, 10], 2.0, inputs=((6, 8), np.array([3, 19, 0, 9, 4, 10]))),
    Case("AdaptiveLogSoftmaxWithLoss", 8, 20, [4, 10, 12], 1.5, True, inputs=((4, 8), np.array([1, 11, 15, 5]))),
    Case("AdaptiveLogSoftmaxWithLoss", 8, 9, [2], inputs=((8,), np.array(5))),
    Case("PReLU", inputs=((2, 3),)), Case("PReLU", 3, inputs=((2, 3, 4),)),
    *[Case(name, inputs=((3, 4),)) for name in ("ReLU6", "Hardsigmoid", "Softsign", "Tanhshrink", "Hardtanh", "Softshrink", "Hardshrink", "CELU",
                                                "GLU", "GELU", "SiLU", "Mish")],
    Case("Threshold", 0.1, 5.0), Case("CELU", 0.7), Case("Softmin", 1), Case("Softmax2d", inputs=((2, 3, 2, 2),)), Case("GELU", "tanh"),
    Case("Unflatten", 1, (2, 3), inputs=((2, 6),)), Case("PixelShuffle", 2, inputs=((1, 8, 2, 3),)), Case("PixelUnshuffle", 2, inputs=((2, 4, 6),)),
    Case("ChannelShuffle", 2, inputs=((2, 6, 3),)),
    Case("Upsample", scale_factor=2, inputs=((1, 2, 3, 4),)), Case("Upsample", size=(5, 6), mode="bilinear", inputs=((1, 2, 3, 4),)),
    Case("Upsample", scale_factor=2, mode="linear", align_corners=True, inputs=((1, 2, 4),)), Case("UpsamplingBilinear2d", 5, inputs=((1, 2, 3, 4),)),
    Case("ZeroPad2d", (1, -1, 0, 2), inputs=((2, 3, 4),)), Case("ReflectionPad1d", 2, inputs=((2, 3, 4),)), Case("ConstantPad1d", 1, 2.5),
    Case("ReplicationPad2d", (1, 2, 0, 1), inputs=((1, 2, 3, 4),)), Case("CircularPad2d", 1, inputs=((1, 2, 3, 4),)),
    Case("Bilinear", 3, 4, 2, inputs=((5, 3), (5, 4))), Case("Bilinear", 3, 4, 2, bias=False, inputs=((2, 5, 3), (2, 5, 4))),
    Case("CosineSimilarity", 2, inputs=((2, 3, 4), (2, 3, 4))), Case("PairwiseDistance", 3.0, keepdim=True, inputs=((3, 4), (3, 4))),
    *[Case(name, reduction=reduction, inputs=inputs, **options) for reduction in ("mean", "sum", "none") for name, inputs, options in (
        ("CosineEmbeddingLoss", ((3, 4), (3, 4), SIGNS[0, :3]), {"margin": 0.2}),
        ("MarginRankingLoss", ((4,), (4,), SIGNS[0]), {"margin": 0.3}),
        ("HingeEmbeddingLoss", (("chances", (3, 4)), SIGNS), {"margin": 0.7}),
        ("TripletMarginLoss", ((3, 4),) * 3, {"p": 3.0, "margin": 0.5, "swap": True}), ("TripletMarginLoss", ((2, 3, 4),) * 3, {}),
        ("SoftMarginLoss", ((3, 4), SIGNS), {}), ("MultiMarginLoss", ((3, 4), ("integers", (3,), 4)), {"p": 2, "margin": 0.6}),
        ("MultiLabelMarginLoss", ((3, 4), np.array([[3, 0, -1, 1], [-1, 0, 2, 1], [1, 2, 3, 0]])), {}),
        ("MultiLabelSoftMarginLoss", ((3, 4), (SIGNS > 0).astype(np.float32)), {}),
        ("GaussianNLLLoss", ((3, 4), (3, 4), ("chances", (3, 4))), {"full": True}),
        ("GaussianNLLLoss", ((3, 4), (3, 4), ("chances", (3,))), {"eps": 0.5}),
        ("PoissonNLLLoss", ((3, 4), ("integers", (3, 4), 6)), {"full": True}),
        ("PoissonNLLLoss", (("chances", (3, 4)), ("integers", (3, 4), 6)), {"log_input": False}))],
]

#: Points around an image, none of them half-way between two pixels.
POINTS = np.array([[[[-1.3, 0.2], [0.7, 1.9], [0.1, -0.6]]], [[[2.4, -3.1], [-0.45, 0.35], [0.95, 0.85]]]], np.float32)
_ATTENTION = "scaled_dot_product_attention"
FUNCTIONS = [
    Case(_ATTENTION, inputs=((2, 3, 4), (2, 5, 4), (2, 5, 6))), Case(_ATTENTION, inputs=((2, 5, 4),) * 3, is_causal=True),
    Case(_ATTENTION, inputs=((2, 2, 5, 4), (2, 2, 3, 4), (2, 2, 3, 4)), is_causal=True, scale=0.3),
    Case(_ATTENTION, inputs=((2, 3, 4), (2, 4, 4), (2, 4, 4), SOME)), Case(_ATTENTION, inputs=((2, 3, 4), (2, 4, 4), (2, 4, 4), (3, 4))),
    Case(_ATTENTION, inputs=((2, 2, 3, 4), (2, 2, 4, 4), (2, 2, 4, 4), (2, 1, 3, 4))),
    Case(_ATTENTION, inputs=((1, 3, 4), (1, 4, 4), (1, 4, 4), SOME & np.array([[True], [False], [True]]))),
    Case(_ATTENTION, inputs=((2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4)), enable_gqa=True),
    Case(_ATTENTION, inputs=((2, 4, 3, 4), (2, 1, 3, 4), (2, 1, 3, 4)), enable_gqa=True, is_causal=True),
    Case(_ATTENTION, inputs=((1, 4, 3, 4), (1, 2, 4, 4), (1, 2, 4, 4), (1, 4, 3, 4)), enable_gqa=True),
    Case("layer_norm", (4,), inputs=((3, 4),)), Case("rms_norm", (4,), inputs=((3, 4),)), Case("group_norm", 2, inputs=((3, 4, 5),)),
    Case("batch_norm", inputs=((4, 3), np.zeros(3, np.float32), np.ones(3, np.float32), (3,), (3,)), training=True),
    Case("instance_norm", inputs=((2, 3, 4),)),
    Case("one_hot", inputs=(("integers", (2, 3), 5),), num_classes=5), Case("embedding", inputs=(("integers", (2, 3), 5), (5, 2))),
    Case("pad", (1, 2), inputs=((2, 3),)), Case("pad", (1, 1, 2, 0), "reflect", inputs=((1, 4, 3),)), Case("pad", (-1, 1), value=2.0),
    Case("interpolate", scale_factor=1.5, inputs=((1, 2, 4, 4),)), Case("interpolate", size=6, mode="bicubic", inputs=((1, 2, 4, 4),)),
    Case("conv1d", inputs=((2, 3, 6), (4, 3, 2), (4,)), stride=2), Case("conv_transpose2d", inputs=((1, 2, 3, 3), (2, 3, 2, 2)), stride=2),
    Case("unfold", 2, inputs=((1, 2, 4, 5),)), Case("unfold", (2, 3), dilation=(2, 1), padding=1, stride=(1, 2), inputs=((2, 2, 4, 5),)),
    Case("fold", (4, 5), 2, inputs=((1, 8, 12),)), Case("fold", (4, 5), (2, 3), padding=1, stride=2, inputs=((2, 12, 9),)),
    Case("normalize", inputs=((3, 4),)), Case("cosine_similarity", inputs=((3, 4), (3, 4))), Case("softmin", dim=1),
    Case("multilabel_soft_margin_loss", inputs=((3, 4), (SIGNS > 0).astype(np.float32), np.float32([0.5, 1.0, 2.0, 1.5]))),
    Case("pdist", inputs=((5, 3),)), Case("pdist", 1.0, inputs=((4, 3),)),
    Case("linear_cross_entropy", inputs=((4, 3), (5, 3), ("integers", (4,), 5)), label_smoothing=0.1, ignore_index=2),
    Case("bilinear", inputs=((5, 3), (5, 4), (2, 3, 4), (2,))),
    Case("lp_pool2d", 3.0, 2, inputs=(("chances", (1, 4, 4)),)), Case("glu", dim=0, inputs=((4, 3),)),
    Case("affine_grid", (2, 1, 3, 4), inputs=((2, 2, 3),), align_corners=False),
    Case("affine_grid", (2, 1, 3, 1), inputs=((2, 2, 3),), align_corners=True),
    *[Case("grid_sample", inputs=((2, 3, 4, 5), grid), mode=mode, padding_mode=padding, align_corners=is_aligned)
      for mode, grid in (("bilinear", (2, 3, 6, 2)), ("nearest", POINTS))
      for padding in ("zeros", "border", "reflection") for is_aligned in (False, True)],
    Case("local_response_norm", 3, inputs=((2, 4, 3),)), Case("lp_pool1d", 2.0, 2, inputs=(("chances", (1, 2, 5)),)), Case("rrelu"),
]

CASES = LAYERS + FUNCTIONS


class Ours:
    """How this library runs a case, with or without jit. The oracle has a class of the same methods for PyTorch."""

    tensor, nn = staticmethod(rg.tensor), nn

    def __init__(self, compiles=False):
        self.compile = rg.jit if compiles else lambda function: function

    def seen(self, output):
        """A result, which a subclass may look at."""
        return output

    def layer(self, case):
        """The layer of a case in its mode, with weights, and the names of its state."""
        layer = getattr(self.nn, case.name)(*case.args, **case.kwargs).train(case.phase == "train")
        layer.load_state_dict(case.weights({name: x.shape for name, x in layer.state_dict().items()}))
        return layer

    def call(self, case, layer, inputs):
        """(results, gradients of the floats among the inputs that were drawn) after one call."""
        options = {k: self.tensor(v) if isinstance(v, np.ndarray) else v for k, v in case.options.items()}

        def step(*given):
            given = [x.detach().requires_grad_() if is_drawn else x for x, is_drawn in zip(given, case.differentiable, strict=True)]
            outputs = [self.seen(z) for z in flat(layer(*(given * case.uses), **options))]
            terms = [(z * case.cotangent(i, z.shape)).sum() for i, z in enumerate(outputs) if z.requires_grad]
            if terms:
                sum(terms[1:], terms[0]).backward()
            return [z.detach() for z in outputs], [x.grad for x, is_drawn in zip(given, case.differentiable, strict=True) if is_drawn]

        results, gradients = self.compile(step)(*map(self.tensor, inputs))
        return [z.numpy() for z in results], [g.numpy() for g in gradients if g is not None]

    def state(self, layer):
        """By name the gradients of the parameters, and the buffers."""
        return {f"gradient of {name}": p.grad.numpy() for name, p in layer.named_parameters() if p.grad is not None} | {
            f"buffer {name}": b.numpy() for name, b in layer.named_buffers()}

    def function(self, case):
        """The function of a case, with the arguments that are not inputs."""
        return lambda *inputs: getattr(self.nn.functional, case.name)(*inputs, *case.args, **case.kwargs)


def run(case, library):
    """Everything that is compared, by name: results, gradients, buffers, and the names of the state in their order."""
    layer = library.layer(case) if case.is_layer else library.function(case)
    for step in range(case.steps):
        results, gradients = library.call(case, layer, case.drawn(step))
    found = {f"result {i}": z for i, z in enumerate(results)} | {f"gradient of input {i}": g for i, g in enumerate(gradients)}
    if case.is_layer:
        found |= library.state(layer) | {"names": np.array(list(layer.state_dict()), "U64")}
    return {name: np.array(x) for name, x in found.items()}


def packed(results):
    """What several cases gave, by case and name, as few arrays: all numbers in a row, and where each lies."""
    places, rows = {}, []
    for case, found in results.items():
        places[case] = {}
        for name, x in found.items():
            exact = None if x.dtype.kind == "f" else x.tolist()
            places[case][name] = {"shape": x.shape, "dtype": str(x.dtype), "exact": exact, "start": sum(map(len, rows))}
            rows += [x.astype(np.float32).reshape(-1)] if exact is None else []
    return {"places": np.array(json.dumps(places)), "numbers": np.concatenate(rows)}


def recorded():
    """What PyTorch gave, by case and name."""
    with np.load(RECORDED) as file:
        places, numbers = json.loads(str(file["places"])), file["numbers"]
    return {case: {name: _unpacked(numbers, **place) for name, place in found.items()} for case, found in places.items()}


def _unpacked(numbers, shape, dtype, exact, start):
    return np.array(exact, dtype) if exact is not None else numbers[start : start + int(np.prod(shape))].reshape(shape)


def flat(results):
    """What a layer returned as a list."""
    return [z for z in results if z is not None] if isinstance(results, (tuple, list)) else [results]


def assert_agree(found, expected):
    """Fail unless both hold the same names, and numbers that differ by rounding alone."""
    assert found.keys() == expected.keys()
    for name, right in expected.items():
        mine = found[name]
        assert mine.shape == right.shape, name
        if right.dtype.kind in "Uib":
            np.testing.assert_array_equal(mine, right, err_msg=name)
        else:
            limit = TOLERANCE * (1 + np.abs(right).max(initial=0))
            np.testing.assert_allclose(mine, right, rtol=0, atol=limit, err_msg=name)
